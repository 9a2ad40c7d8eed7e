import type { Page } from 'playwright-core'
import { beforeAll, expect, inject, test } from 'vitest'
import { refusals } from '../../../src/api/error-codes.ts'
import { advice } from '../../../src/site/error-advice.ts'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'
import { failWith, wrongCredentials } from './failures.ts'
import type { Credentials } from './provided-site.ts'
import { visit } from './visit.ts'

const { origin, partners, tokenLifetimeSeconds } = inject('site')
const { demo } = partners

/** The plans that the API returns to the demo partner. */
let plans: Plan[]
beforeAll(async () => {
  plans = await new InvestmentPlansClient({ baseUrl: origin, ...demo }).listPlans()
})

test('gets a token, lists the plans, and shows a 304 for an unchanged list', async () => {
  await visit('/try', async ({ page, complaints }) => {
    await getToken(page, demo)
    expect(await page.locator('#token-response').innerText()).toContain(`"expires_in": ${tokenLifetimeSeconds}`)
    const list = await listPlans(page, demo.shortName)
    expect(list).toContain(`${plans.length} plans`)
    for (const { identifier } of plans) expect(list).toContain(`"identifier": "${identifier}"`)
    await page.locator('[name=isConditional]').check()
    expect(await listPlans(page, demo.shortName)).toContain('HTTP 304')
    expect(await page.getByRole('status').nth(1).innerText()).toContain('The list hasn’t changed')
    expect(complaints).toEqual([])
    const { clientId, clientSecret } = demo
    for (const summary of await page.locator('summary').all()) await summary.click()
    const html = await page.content()
    expect(html).toContain('Basic ••••')
    expect(html).not.toContain(clientSecret)
    expect(html).not.toContain(btoa(`${clientId}:${clientSecret}`))
  })
})

test.each(wrongCredentials)('shows the message and the fix for %s', async (_, wrong, message, fix) => {
  await visit('/try', async ({ page }) => {
    await getToken(page, { ...demo, ...wrong })
    const shown = await page.locator('#token-outcome').innerText()
    expect(shown).toContain(message)
    expect(shown).toContain(fix)
    expect(await page.locator('[name=accessToken]').inputValue()).toBe('')
  })
})

test('shows the fix for another partner’s short name, an invalid filter and an expired token', async () => {
  await visit('/try', async ({ page }) => {
    await getToken(page, demo)
    expect(await listPlans(page, 'other')).toContain(advice.forbidden.fix)
    await page.locator('[name=currency]').fill('12')
    expect(await listPlans(page, demo.shortName)).toContain('such as KES')
    await page.waitForTimeout(1000 * (tokenLifetimeSeconds + 1))
    const shown = await listPlans(page, demo.shortName)
    expect(shown).toContain(refusals.expired_token.message)
    expect(shown).toContain(advice.expired_token.fix)
  })
})

test('accepts a token with line breaks, and shows the fix for an invalid or missing token', async () => {
  await visit('/try', async ({ page }) => {
    await getToken(page, demo)
    const token = await page.locator('[name=accessToken]').inputValue()
    await page.locator('[name=accessToken]').fill(token.replaceAll(/.{60}/g, '$&\n'))
    expect(await listPlans(page, demo.shortName)).toContain(`${plans.length} plans`)
    await page.locator('[name=accessToken]').fill('eyJ…')
    expect(await listPlans(page, demo.shortName)).toContain('This is not an access token')
    await page.locator('[name=accessToken]').fill('')
    expect(await listPlans(page, demo.shortName)).toContain(advice.missing_token.fix)
  })
})

test('shows what to do about an empty list', async () => {
  await visit('/try', async ({ page }) => {
    await getToken(page, partners.empty)
    expect(await listPlans(page, 'empty')).toContain('no plan is viewable in your country yet: contact support')
  })
})

test('shows what to do when the API fails or can’t be reached', async () => {
  await visit('/try', async ({ page }) => {
    await failWith(page, 503)
    await getToken(page, demo)
    expect(await page.locator('#token-outcome').innerText()).toContain(`${advice.unavailable.fix} Wait 5 seconds.`)
    for (const status of [502, 200] as const) {
      await failWith(page, status)
      await getToken(page, demo)
      expect(await page.locator('#token-outcome').innerText()).toContain(
        `The response has status ${status} and did not come from the API.`,
      )
      expect(await page.locator('[name=accessToken]').inputValue()).toBe('')
    }
    await failWith(page, 'no connection')
    expect(await listPlans(page, 'demo')).toContain('Check your connection, then try again.')
  })
})

async function getToken(page: Page, { clientId, clientSecret }: Credentials): Promise<void> {
  await page.locator('[name=clientId]').fill(clientId)
  await page.locator('[name=clientSecret]').fill(clientSecret)
  await page.getByRole('button', { name: 'Get a token' }).click()
  await page.locator('#token-form:not([aria-busy])').waitFor()
}

/** Returns the outcome and the response that the page shows. */
async function listPlans(page: Page, shortName: string): Promise<string> {
  await page.locator('[name=shortName]').fill(shortName)
  await page.getByRole('button', { name: 'List the plans' }).click()
  await page.locator('#plans-form:not([aria-busy])').waitFor()
  return (await page.locator('#plans-outcome, #plans-response').allInnerTexts()).join('\n')
}

test('each button of "Reproduce an error" is refused with its code', async () => {
  await visit('/try', async ({ page }) => {
    await page.locator('[data-reproduce=forbidden]').click()
    await page.getByText('This error needs an access token.').waitFor()
    await getToken(page, demo)
    // A token pasted with its scheme.
    const token = await page.locator('[name=accessToken]').inputValue()
    await page.locator('[name=accessToken]').fill(`Bearer ${token}`)
    expect(await listPlans(page, demo.shortName)).toContain(`${plans.length} plans`)
    const codes = await page.locator('[data-reproduce]').allInnerTexts()
    expect(codes.length).toBe(7)
    for (const code of codes) {
      await page.locator(`[data-reproduce=${code}]`).click()
      await page.locator('#reproduction-response', { hasText: `"error": "${code}"` }).waitFor()
      expect(await page.locator('#reproduction-outcome').innerText()).toContain(`More about ${code}`)
    }
  })
})
