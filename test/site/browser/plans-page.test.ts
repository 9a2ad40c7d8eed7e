import type { Page } from 'playwright-core'
import { beforeAll, expect, inject, test } from 'vitest'
import { filterNames, getValue, planFilters } from '../../../src/catalog/plan-filters.ts'
import { refusals } from '../../../src/api/error-codes.ts'
import { advice } from '../../../src/site/error-advice.ts'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'
import { failWith, wrongCredentials } from './failures.ts'
import type { Credentials } from './provided-site.ts'
import { findViolations, visit } from './visit.ts'

const { origin, partners, tokenLifetimeSeconds, markup, markupUrl } = inject('site')
const { demo } = partners
const client = new InvestmentPlansClient({ baseUrl: origin, ...demo })

/** The plans that the API returns to the demo partner. */
let plans: Plan[]
beforeAll(async () => {
  plans = await client.listPlans()
})

test('shows each plan that the API returns as a card', async () => {
  await visit('/plans', async ({ page, complaints }) => {
    await signIn(page, demo)
    expect(await page.locator('#count').innerText()).toBe(`${plans.length} plans`)
    const cards = await page.locator('.card').all()
    expect(await readIdentifiers(page)).toEqual(plans.map(({ identifier }) => identifier))
    for (const [index, plan] of plans.entries()) {
      await cards[index]?.locator('summary').click()
      const text = ((await cards[index]?.innerText()) ?? '').replaceAll(/\s+/g, ' ')
      for (const expected of listExpectedTexts(plan)) expect(text).toContain(expected.replaceAll(/\s+/g, ' '))
    }
    expect(complaints).toEqual([])
    expect(await findViolations(page)).toEqual([])
    for (const [index, { factSheet, prospectus, imageUrl, thumbnail }] of plans.entries()) {
      expect(await cards[index]?.getByText('Artwork').getAttribute('href')).toBe(imageUrl)
      expect(await cards[index]?.getByText('Thumbnail').getAttribute('href')).toBe(thumbnail)
      expect(await cards[index]?.getByText('Fact sheet').getAttribute('href')).toBe(factSheet)
      expect(await cards[index]?.getByText('Prospectus').getAttribute('href')).toBe(prospectus)
    }
    const artworks = await page.locator('.artwork').evaluateAll((all) => all.map(({ innerHTML }) => innerHTML))
    expect(new Set(artworks).size).toBe(plans.length)
    const highest = Math.max(...plans.flatMap(({ performance1: value }) => value ?? []))
    const tallest = await page
      .locator('.card', { hasText: `${highest.toFixed(1)}%` })
      .locator('.gain')
      .first()
      .getAttribute('height')
    expect(Number(tallest)).toBe(44)
  })
})

test('filters the cards as the API filters the list', async () => {
  await visit('/plans', async ({ page }) => {
    await signIn(page, demo)
    const choose = async (name: string, value: string) => {
      const answered = page.waitForResponse((response) => response.url().includes('/plans?'))
      await page.locator(`[name=${name}]`).selectOption(value)
      await answered
      await page.locator('#cards:not([aria-busy])').waitFor({ state: 'attached' })
    }
    const readOptions = (name: string) =>
      page.locator(`[name=${name}] option`).evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))
    for (const name of filterNames) {
      const [any, ...values] = await readOptions(name)
      expect(any).toBe('')
      const used = plans.flatMap((plan) => getValue(plan, planFilters[name]) ?? []).map(String)
      expect(values.toSorted()).toEqual([...new Set(used)].toSorted())
      for (const value of values) {
        await choose(name, value)
        const expected = await client.listPlans({ [name]: planFilters[name].parse(value) })
        expect(await readIdentifiers(page)).toEqual(expected.map(({ identifier }) => identifier))
      }
      await page.locator(`[name=${name}]`).selectOption('')
    }
    await choose('currency', 'USD')
    await choose('fundType', 'BOND')
    expect(await page.getByRole('status').first().innerText()).toContain('Set one of them back to “Any”.')
  })
})

test('shows only the response to the latest request, and none after signing out', async () => {
  await visit('/plans', async ({ page }) => {
    await page.route('**/auth', async (route) => {
      await page.waitForTimeout(300)
      await route.continue()
    })
    const tokenRequests: string[] = []
    page.on('request', (request) => request.url().endsWith('/auth') && tokenRequests.push(request.url()))
    await signIn(page, demo, '[aria-busy]')
    await page.keyboard.press('Enter')
    await page.locator('.card').first().waitFor()
    expect(tokenRequests.length).toBe(1)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe(Object.keys(planFilters)[0])

    const heldRequests: (() => void)[] = []
    await page.route('**/plans?currency=USD', async (route) => {
      await new Promise<void>((resume) => heldRequests.push(resume))
      await route.continue()
    })
    const releaseHeldRequests = async () => {
      while (heldRequests.length === 0) await page.waitForTimeout(20)
      const answered = page.waitForResponse('**/plans?currency=USD')
      for (const resume of heldRequests.splice(0)) resume()
      await answered
      await page.waitForTimeout(300)
    }
    await page.locator('[name=currency]').selectOption('USD')
    await page.locator('[name=currency]').selectOption('KES')
    await page.waitForFunction((all) => document.querySelectorAll('.card').length < all, plans.length)
    const shown = await readIdentifiers(page)
    await releaseHeldRequests()
    expect(await readIdentifiers(page)).toEqual(shown)

    await page.locator('[name=currency]').selectOption('USD')
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('clientId')
    await releaseHeldRequests()
    expect(await page.locator('.card, [aria-busy]').count()).toBe(0)
    const laterRequests: string[] = []
    page.on('request', (request) => laterRequests.push(request.url()))
    await page.locator('#filters').dispatchEvent('change')
    await page.waitForTimeout(200)
    expect(laterRequests).toEqual([])
  })
})

test.each([
  ...wrongCredentials,
  ['another partner’s short name', { shortName: 'other' }, refusals.forbidden.message, advice.forbidden.fix],
])('shows the message and the fix for %s', async (_, wrong, message, fix) => {
  await visit('/plans', async ({ page }) => {
    await signIn(page, { ...demo, ...wrong }, '#failure .callout')
    const failure = await page.getByRole('alert').innerText()
    expect(failure).toContain(message)
    expect(failure).toContain(fix)
  })
})

test('shows what to do about an empty list', async () => {
  await visit('/plans', async ({ page }) => {
    await signIn(page, partners.empty, '#filters')
    await page.getByText('No plan is viewable in your country yet. Ask support').waitFor()
    expect(await page.locator('.card').count()).toBe(0)
  })
})

test('shows what to do when the API fails, recovers with “Try again”, and renews an expired token', async () => {
  await visit('/plans', async ({ page }) => {
    await signIn(page, demo)
    await failWith(page, 503)
    await page.locator('[name=currency]').selectOption('USD')
    await page.getByText(advice.unavailable.fix).waitFor()
    await failWith(page, 'no connection')
    await page.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.getByText('The API can’t be reached.').waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('count')
    await failWith(page, 200)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('A proxy or network between you and the API may have sent it.').waitFor()
    await page.unrouteAll()
    await page.waitForTimeout(1000 * (tokenLifetimeSeconds + 1))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.card').first().waitFor()
    expect(await page.getByRole('alert').innerText()).toBe('')
  })
})

test('escapes markup in texts, and shows negative returns as losses', async () => {
  await visit('/plans', async ({ page, complaints }) => {
    await signIn(page, partners.markup)
    expect(await page.locator('.card h2').innerText()).toBe(markup)
    expect(await page.locator('.card-hint').innerText()).toBe(markup)
    expect(await page.locator('[name=fundType] option').last().innerText()).toBe(markup)
    await page.locator('.card summary').click()
    expect(await page.getByRole('link', { name: 'Artwork' }).getAttribute('href')).toBe(markupUrl)
    expect(await page.locator('main img, main script, main [onerror]').count()).toBe(0)
    expect(await page.locator('.loss').count()).toBe(1)
    expect(await page.locator('.returns').innerText()).toContain('-12.5%')
    expect(await page.locator('.facts').innerText()).toContain('Not stated')
    await page.locator('[name=fundType]').selectOption(markup)
    await page.locator('#cards:not([aria-busy])').waitFor({ state: 'attached' })
    expect(await page.locator('.card').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

test('keeps credentials only in memory', async () => {
  await visit('/plans', async ({ page }) => {
    const urls: string[] = []
    page.on('request', (request) => urls.push(request.url()))
    await signIn(page, demo)
    expect(urls.join()).not.toContain(demo.clientSecret)
    expect(await page.content()).not.toContain(demo.clientSecret)
    expect(await page.locator('[name=clientSecret]').inputValue()).toBe('')
    expect(await page.locator('[name=clientSecret]').getAttribute('type')).toBe('password')
    const kept = await page.evaluate(async () => [
      localStorage.length + sessionStorage.length,
      document.cookie,
      await indexedDB.databases(),
      await caches.keys(),
    ])
    expect(kept).toEqual([0, '', [], []])
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.locator('.card').count()).toBe(0)
    await signIn(page, demo)
    // As when the reader leaves the page and goes back to it.
    await page.evaluate(() => dispatchEvent(new Event('pagehide')))
    expect(await page.locator('.card').count()).toBe(0)
    expect(await page.locator('#sign-in').isVisible()).toBe(true)
    expect(await page.locator('[name=clientId]').inputValue()).toBe('')
  })
})

async function signIn(page: Page, { clientId, clientSecret, shortName }: Credentials, until = '.card'): Promise<void> {
  await page.locator('[name=clientId]').fill(clientId)
  await page.locator('[name=clientSecret]').fill(clientSecret)
  await page.locator('[name=shortName]').fill(shortName)
  await page.getByRole('button', { name: 'Show my plans' }).click()
  await page.locator(until).first().waitFor()
}

const readIdentifiers = (page: Page) =>
  page.locator('.card').evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset['identifier']))

/** Returns the texts that a plan's card must contain. */
function listExpectedTexts(plan: Plan): string[] {
  const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
  const percent = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 2 })
  const { performance1, performance3, performance5, performance10 } = plan
  const returns = [performance1, performance3, performance5, performance10]
  const amounts = [plan.minInvestableAmounts, plan.minTopUpAmounts].flatMap((each) => Object.entries(each))
  return [
    plan.coolName,
    plan.hint,
    plan.about,
    plan.name,
    plan.tenor,
    plan.nonInvestableNote ?? '',
    plan.category?.displayName ?? plan.sector,
    `Risk ${plan.productRiskLevel?.name ?? 'Not rated'}`,
    `Lock-in ${plan.lockInPeriod === 0 ? 'None' : `${plan.lockInPeriod} days`}`,
    ...returns.flatMap((value) => (value === null ? [] : `${percent.format(value)}%`)),
    ...amounts.map(([currency, amount]) => (amount === 0 ? 'Any amount' : `${currency} ${decimal.format(amount)}`)),
    `Partial withdrawal ${plan.partialWithdrawable ? 'Possible' : 'Not possible'}`,
    `as of ${new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(plan.performanceDate))}`,
  ]
}
