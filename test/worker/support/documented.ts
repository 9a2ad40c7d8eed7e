// Every response of the suite is held against openapi.json: its status, its headers and its body.
import { Validator, type Schema } from '@cfworker/json-schema'
import { expect } from 'vitest'
import openapi from '../../../src/openapi/openapi.json'

interface Header {
  required: boolean
  schema: Schema
}
interface Documented {
  headers?: Record<string, { $ref: string }>
  content?: Record<string, { schema: Schema; examples?: Record<string, unknown> }>
}

/** Partners ignore unknown members. Tests refuse undocumented ones. */
const components = close(openapi.components)
interface Endpoint {
  pattern: RegExp
  operations: Record<string, { responses: Record<string, Documented> }>
}
const endpoints = Object.entries(openapi.paths).map(([path, operations]): Endpoint => ({
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  operations,
}))
const tokenPath = openapi.components.securitySchemes.oauth2.flows.clientCredentials.tokenUrl
/** Other paths and methods return the same error body. */
const elsewhere = documentError('ErrorResponse')
const elsewhereOfToken = documentError('TokenErrorResponse')

const validators = new Map<object, Validator>()

export async function expectDocumented({ method, url }: Request, response: Response): Promise<void> {
  const { pathname } = new URL(url)
  const endpoint = endpoints.find(({ pattern }) => pattern.test(pathname))
  const operation = endpoint?.operations[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
  const undocumented = pathname === tokenPath ? elsewhereOfToken : elsewhere
  const documented = operation === undefined ? undocumented : operation.responses[response.status]
  expect(documented, `${method} ${pathname} is documented to answer ${response.status}`).toBeDefined()

  for (const [name, { $ref }] of Object.entries(documented?.headers ?? {})) {
    const header: Header | undefined = Reflect.get(components.headers, $ref.replace('#/components/headers/', ''))
    if (header?.required === false && !response.headers.has(name)) continue
    const problems = problemsOf(header?.schema, response.headers.get(name) ?? undefined)
    expect({ [name]: problems }).toEqual({ [name]: [] })
  }
  const text = method === 'HEAD' ? '' : await response.clone().text()
  const [[type, content] = []] = Object.entries(documented?.content ?? {})
  if (text === '') return
  expect(response.headers.get('Content-Type')).toBe(type)
  const body: { error?: string } = JSON.parse(text)
  expect(problemsOf(content?.schema, body)).toEqual([])
  const codes = content?.examples ?? openapi.components.schemas.ErrorResponse.properties.error.examples
  const isKnown = (Array.isArray(codes) ? codes : Object.keys(codes)).includes(String(body.error))
  expect(body.error === undefined || isKnown, `${pathname} is documented to refuse with ${body.error}`).toBe(true)
}

function documentError(name: string): Documented {
  return { content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } }
}

function close<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(close) as Value
  const closed = Object.entries(value).map(([name, member]) => [name, close(member)])
  return Object.fromEntries('properties' in value ? [...closed, ['additionalProperties', false]] : closed) as Value
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
