import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { refusals } from '../../../src/worker/http/api-error.ts'
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
  })
})

test('the plan fields page shows every field of openapi.json', async () => {
  const openapi = JSON.parse(await readFile(join(project, 'src/openapi/openapi.json'), 'utf8')) as {
    components: { schemas: { Plan: { properties: Record<string, { description: string }> } } }
  }
  const { properties } = openapi.components.schemas.Plan
  await visit('/plan-fields', async ({ page }) => {
    const rows = await page.locator('tbody tr').allInnerTexts()
    for (const [name, { description }] of Object.entries(properties)) {
      expect(rows.find((row) => row.startsWith(`${name}\t`))).toContain(description)
    }
    expect(Object.keys(properties).length).toBe(32)
    expect(rows.some((row) => row.startsWith('category.displayName\t'))).toBe(true)
  })
})

test('the API reference shows both endpoints, sets no cookie and sends no telemetry', async () => {
  await visit('/reference#/plans/listplans', async ({ page, complaints }) => {
    const reference = page.locator('#reference')
    for (const text of ['List the plans of your country', 'categoryId', 'If-None-Match', 'Cache-Status']) {
      await reference.getByText(text, { exact: true }).first().waitFor()
    }
    await page.goto('/reference#/token/issueaccesstoken')
    await reference.getByText('Exchange client credentials for an access token').first().waitFor()
    expect(await reference.getByText('expires_in').count()).toBeGreaterThan(0)
    expect(await page.locator('[data-testid="page-actions"]').first().isVisible()).toBe(false)
    await page.locator('[data-testid="search-trigger"]').press('Enter')
    await page.keyboard.type('expires')
    // Redoc sends its telemetry after some seconds, if it is not turned off.
    await page.waitForTimeout(7000)
    expect(complaints).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })
})
