import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { refusals, type ErrorCode } from '../../../src/api/error-codes.ts'
import { advice, isErrorCode } from '../../../src/site/blocks/error-advice.ts'
import { runFile } from '../../support/run-file.ts'
import { visit } from './visit.ts'

const project = resolve(import.meta.dirname, '../../..')

test('the limits page shows the rate limits of wrangler.toml', async () => {
  const config = await readFile(join(project, 'wrangler.toml'), 'utf8')
  const limits = [...config.matchAll(/^name = "(\w+)"\n.*\nsimple = \{ limit = (\d+), period = 60 \}/gm)]
  const readLimit = (binding: string) =>
    [...new Set(limits.flatMap(([, name, limit]) => (name === binding ? limit : [])))].join()
  const sentence = `${readLimit('AUTH_RATE_LIMIT')} per minute for each client ID, ${readLimit('AUTH_ADDRESS_RATE_LIMIT')} per minute for each IP address`
  expect(sentence).toMatch(/^\d+ per minute/)
  expect(await (await fetch(`${inject('site').origin}/limits.md`)).text()).toContain(sentence)
})

describe('the errors page', async () => {
  const { origin, partners } = inject('site')
  const { clientId, clientSecret, shortName } = partners.demo
  const variables = { API: origin, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, SHORT_NAME: shortName }
  const page = await (await fetch(`${origin}/errors.md`)).text()
  const [, getToken = ''] = /\n(TOKEN=[^]*?)\n```/.exec(page) ?? []
  const codes = Object.keys(refusals).filter(isErrorCode)
  const findSection = (code: ErrorCode) => {
    const start = `${refusals[code].status} \`${code}\`\n`
    return page.split('\n## ').find((section) => section.startsWith(start)) ?? ''
  }
  const readRequest = (code: ErrorCode) => /```sh\n([^]*?)\n```/.exec(findSection(code))?.[1] ?? ''

  test.each(codes)('has the cause and the fix of %s', (code) => {
    // The links lead to the Markdown of other pages.
    const section = findSection(code).replaceAll('.md#', '#')
    for (const text of [advice[code].cause, advice[code].fix]) expect(section).toContain(text)
  })

  test.each(codes.filter((code) => !advice[code].whyMocked))('has a request that is refused with %s', async (code) => {
    const env = { PATH: process.env['PATH'], ...variables }
    const { stdout } = await runFile('sh', ['-c', `${getToken}\n${readRequest(code)}`], { env })
    expect(stdout).toContain(`"error":"${code}"`)
  })
})

test('the API reference has every operation, parameter, header and error of openapi.json, and deep links', async () => {
  const openapi = JSON.parse(await readFile(join(project, 'src/openapi/openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string; parameters?: { name: string }[]; responses: object }>>
    components: { headers: object; schemas: Record<string, { properties: object }> }
  }
  const operations = Object.values(openapi.paths).flatMap((methods) => Object.values(methods))
  const ids = [
    ...operations.flatMap(({ operationId, parameters = [], responses }) => [
      operationId,
      ...parameters.map(({ name }) => `${operationId}.${name}`),
      ...Object.keys(responses).map((status) => `${operationId}-${status}`),
    ]),
    ...Object.keys(openapi.components.headers).map((name) => `header-${name}`),
    ...Object.entries(openapi.components.schemas).flatMap(([name, { properties }]) => [
      name,
      ...Object.keys(properties).map((field) => `${name}.${field}`),
    ]),
  ]
  expect(ids.length).toBeGreaterThan(30)
  await visit('/reference', async ({ page }) => {
    const found = await page.locator('[id]').evaluateAll((elements) => elements.map(({ id }) => id))
    expect(ids.filter((id) => !found.includes(id))).toEqual([])
    const text = await page.locator('main').innerText()
    for (const code of Object.keys(refusals).filter((each) => !['not_found', 'method_not_allowed'].includes(each))) {
      expect(text).toContain(`${code}: `)
    }
    await page.getByRole('heading', { name: 'PlanCategory' }).getByRole('link').click()
    expect(new URL(page.url()).hash).toBe('#PlanCategory')
  })
})
