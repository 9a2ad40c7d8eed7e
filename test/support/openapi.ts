// Every response of the suite is held against openapi.json: its status, its headers and its body.
import { Validator, type Schema } from '@cfworker/json-schema'
import { expect } from 'vitest'
import openapi from '../../src/site/openapi.json'

interface Header {
  required?: boolean
  schema: Schema
}
interface Documented {
  headers?: Record<string, { $ref: string }>
  content?: Record<string, { schema: Schema }>
}

const { components } = openapi
const token: Record<string, Documented> = openapi.paths['/api/v3/partners/auth'].post.responses
const plans: Record<string, Documented> = openapi.paths['/api/v3/partners/{shortName}/plans'].get.responses
/** What is outside the contract has its envelope. */
const elsewhere: Documented = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }

const validators = new Map<object, Validator>()

export async function expectDocumented({ method, url }: Request, response: Response): Promise<void> {
  const { pathname } = new URL(url)
  const isToken = method === 'POST' && pathname === '/api/v3/partners/auth'
  const isPlans = /^(GET|HEAD)$/.test(method) && /^\/api\/v3\/partners\/[^/]+\/plans$/.test(pathname)
  const responses = isToken ? token : isPlans ? plans : undefined
  const documented = responses === undefined ? elsewhere : responses[response.status]
  expect(documented, `${method} ${pathname} is documented to answer ${response.status}`).toBeDefined()

  for (const [name, { $ref }] of Object.entries(documented?.headers ?? {})) {
    const header: Header | undefined = Reflect.get(components.headers, $ref.replace('#/components/headers/', ''))
    const problems = problemsOf(header?.schema, response.headers.get(name) ?? undefined)
    expect({ [name]: problems }).toEqual({ [name]: [] })
  }
  const text = method === 'HEAD' ? '' : await response.clone().text()
  const [[type, content] = []] = Object.entries(documented?.content ?? {})
  if (text === '') return
  expect(response.headers.get('Content-Type')).toBe(type)
  expect(problemsOf(content?.schema, JSON.parse(text))).toEqual([])
}

function problemsOf(schema: Schema | undefined, value: unknown): string[] {
  if (schema === undefined) return ['not documented']
  let validator = validators.get(schema)
  if (validator === undefined) {
    validator = new Validator({ ...schema, components }, '2020-12')
    validators.set(schema, validator)
  }
  return validator.validate(value).errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`)
}
