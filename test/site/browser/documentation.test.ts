import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { refusals } from '../../../src/api/error-codes.ts'
import { advice, isErrorCode } from '../../../src/site/error-advice.ts'
import { visit } from './visit.ts'

const project = resolve(import.meta.dirname, '../../..')

test('the limits page shows the rate limits of wrangler.toml', async () => {
  const config = await readFile(join(project, 'wrangler.toml'), 'utf8')
  const limits = [...config.matchAll(/^name = "(\w+)"\n.*\nsimple = \{ limit = (\d+), period = 60 \}/gm)]
  const readLimit = (binding: string) =>
    [...new Set(limits.flatMap(([, name, limit]) => (name === binding ? limit : [])))].join()
  const sentence = `${readLimit('AUTH_RATE_LIMIT')} per minute for each client ID, ${readLimit('AUTH_ADDRESS_RATE_LIMIT')} per minute for each IP address`
  expect(sentence).toMatch(/^\d+ per minute/)
  await visit('/limits', async ({ page }) => {
    expect(await page.locator('main').innerText()).toContain(sentence)
  })
})

test('the errors page shows every code with its status, cause and fix', async () => {
  await visit('/errors', async ({ page }) => {
    for (const code of Object.keys(refusals).filter(isErrorCode)) {
      const section = await page.locator(`section:has(#${code})`).innerText()
      expect(section).toContain(String(refusals[code].status))
      expect(section).toContain(advice[code].cause)
      expect(section).toContain(advice[code].fix)
    }
    const section = await page.locator('section:has(#error-code-1010)').innerText()
    expect(section).toMatch(/^403 error code: 1010\n.*\bUser-Agent of your own\b/s)
  })
})

test('the API reference shows every field of a plan', async () => {
  const openapi = JSON.parse(await readFile(join(project, 'src/openapi/openapi.json'), 'utf8')) as {
    components: { schemas: { Plan: { properties: Record<string, { description: string }> } } }
  }
  const { properties } = openapi.components.schemas.Plan
  await visit('/reference', async ({ page }) => {
    const rows = await page.locator('section:has(#Plan) tbody tr').allInnerTexts()
    for (const [name, { description }] of Object.entries(properties)) {
      expect(rows.find((row) => row.startsWith(`${name}\t`))).toContain(description)
    }
    expect(Object.keys(properties).length).toBe(32)
    expect(await page.locator('[id="PlanCategory.displayName"]').count()).toBe(1)
  })
})

test('the API reference has every operation, parameter, header and error of openapi.json, and deep links', async () => {
  const openapi = JSON.parse(await readFile(join(project, 'src/openapi/openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string; parameters?: { name: string }[]; responses: object }>>
    components: { headers: object; schemas: object }
  }
  const operations = Object.values(openapi.paths).flatMap((methods) => Object.values(methods))
  const ids = [
    ...operations.flatMap(({ operationId, parameters = [], responses }) => [
      operationId,
      ...parameters.map(({ name }) => `${operationId}.${name}`),
      ...Object.keys(responses).map((status) => `${operationId}-${status}`),
    ]),
    ...Object.keys(openapi.components.headers).map((name) => `header-${name}`),
    ...Object.keys(openapi.components.schemas),
  ]
  expect(ids.length).toBeGreaterThan(30)
  await visit('/reference', async ({ page }) => {
    const found = await page.locator('[id]').evaluateAll((elements) => elements.map(({ id }) => id))
    expect(ids.filter((id) => !found.includes(id))).toEqual([])
    const text = await page.locator('main').innerText()
    for (const code of Object.keys(refusals).filter((each) => !['not_found', 'method_not_allowed'].includes(each))) {
      expect(text).toContain(`${code}: `)
    }
    await page.getByRole('link', { name: 'Status 304' }).first().click()
    expect(new URL(page.url()).hash).toBe('#listPlans-304')
  })
})
