import type { Page } from 'playwright-core'
import { beforeAll, expect, inject, test } from 'vitest'
import { filterNames, readFilterValue, planFilters, type FilterName } from '../../../src/catalog/plan-filters.ts'
import { refusals } from '../../../src/api/error-codes.ts'
import { advice } from '../../../src/site/blocks/error-advice.ts'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'
import type { Credentials } from './provided-site.ts'
import { findViolations, visit } from './visit.ts'

const { origin, partners, sandbox, markup, markupUrl } = inject('site')
const { demo } = partners
const client = new InvestmentPlansClient({ baseUrl: origin, ...demo })

/** The plans that the API returns to the demo partner. */
let plans: Plan[]
beforeAll(async () => {
  plans = await client.listPlans()
})

test('shows the requests as curl, the responses as JSON and each plan as a card', async () => {
  await visit('/try', async ({ page, complaints }) => {
    expect(await listPlans(page, demo)).toContain(`${plans.length} plans.`)
    expect(await page.locator('#exchanges pre:not(details *)').allInnerTexts()).toEqual([
      `curl -i -X POST -u "$CLIENT_ID" '${origin}/api/v3/partners/auth'`,
      `curl -i -H "Authorization: Bearer $TOKEN" '${origin}/api/v3/partners/demo/plans'`,
    ])
    expect(await page.locator('#exchanges .code:not(details *) .copy').count()).toBe(2)
    for (const summary of await page.locator('summary').all()) await summary.click()
    const [token, list] = await page.locator('#exchanges details').allInnerTexts()
    expect(token).toContain('"expires_in": 3600')
    expect(list).toMatch(/^Response: 200\nHTTP 200\n[^]*^ETag: "/m)
    for (const { identifier } of plans) expect(list).toContain(`"identifier": "${identifier}"`)

    const cards = await page.locator('.card').all()
    expect(cards.length).toBe(plans.length)
    for (const [index, plan] of plans.entries()) {
      await cards[index]?.getByRole('button', { name: `About ${plan.coolName}` }).click()
      expect(await page.locator('.about-plan:popover-open').innerText()).toContain(plan.about)
      const links = cards[index]?.locator('.card-links a')
      expect(await links?.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
        plan.factSheet,
        plan.prospectus,
        plan.imageUrl,
        plan.thumbnail,
      ])
    }
    await page.keyboard.press('Escape')
    expect(await page.locator('.about-plan:popover-open').count()).toBe(0)
    const artworks = await page.locator('.artwork').evaluateAll((all) => all.map(({ innerHTML }) => innerHTML))
    expect(new Set(artworks).size).toBe(plans.length)
    expect(complaints).toEqual([])
    expect(await findViolations(page)).toEqual([])
  })
})

test('filters the plans as the API does, and suggests the values that occur', async () => {
  await visit('/try', async ({ page }) => {
    await listPlans(page, demo)
    for (const name of filterNames) {
      const options = page.locator(`#${name} option`)
      const values = await options.evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))
      const used = plans.flatMap((plan) => readFilterValue(plan, planFilters[name]) ?? []).map(String)
      expect(values.toSorted()).toEqual([...new Set(used)].toSorted())
      const [value = ''] = values
      const expected = await client.listPlans({ [name]: planFilters[name].parse(value) })
      await listPlans(page, { ...demo, [name]: value })
      const shown = await page.locator('.card').evaluateAll((all) => all.map((card) => card.dataset['identifier']))
      expect(shown).toEqual(expected.map(({ identifier }) => identifier))
    }
    expect(await listPlans(page, { ...demo, currency: 'USD', fundType: 'BOND' })).toContain('No plan matches')
    expect(await listPlans(page, { ...demo, currency: '12' })).toContain('such as KES')
  })
})

test.each([
  ['a wrong secret', { clientSecret: 'wrong' }, 'invalid_client'],
  ['credentials beyond Latin-1', { clientId: 'Ünknown', clientSecret: 'с' }, 'invalid_client'],
  ['another partner’s short name', { shortName: 'other' }, 'forbidden'],
] as const)('shows the message and the fix for %s', async (_, wrong, code) => {
  await visit('/try', async ({ page }) => {
    const shown = await listPlans(page, { ...demo, ...wrong })
    for (const text of [refusals[code].message, advice[code].fix, `More about ${code}`]) expect(shown).toContain(text)
  })
})

test('says what to do about an empty list, and about white space in a secret', async () => {
  await visit('/try', async ({ page }) => {
    expect(await listPlans(page, partners.empty)).toContain('Ask support')
    expect(await listPlans(page, { ...demo, clientSecret: 'pcs_ a' })).toContain('clientSecret contains white space')
  })
})

test('says what to do when the API fails', async () => {
  await visit('/try', async ({ page }) => {
    const body = { message: refusals.unavailable.message, error: 'unavailable', requestId: crypto.randomUUID() }
    await page.route('**/api/**', (route) =>
      route.fulfill({ status: 503, headers: { 'Retry-After': '5' }, json: body }),
    )
    expect(await listPlans(page, demo)).toContain(`${advice.unavailable.fix} Wait 5 seconds.`)
    await page.unrouteAll()
    await page.route('**/api/**', (route) => route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }))
    expect(await listPlans(page, demo)).toContain('status 502: <h1>Bad Gateway</h1>')
    await page.unrouteAll()
    await page.route('**/api/**', (route) => route.abort())
    expect(await listPlans(page, demo)).toContain('Check your connection')
    await page.unrouteAll()
    expect(await listPlans(page, demo)).toContain(`${plans.length} plans.`)
  })
})

test('escapes markup in texts, and shows negative returns as losses', async () => {
  await visit('/try', async ({ page, complaints }) => {
    await listPlans(page, partners.markup)
    expect(await page.locator('.card h2').innerText()).toBe(markup)
    expect(await page.locator('#fundType option').getAttribute('value')).toBe(markup)
    await page.getByRole('button', { name: 'About' }).click()
    expect(await findViolations(page)).toEqual([])
    expect(await page.getByRole('link', { name: 'Artwork' }).getAttribute('href')).toBe(markupUrl)
    expect(
      await page.locator('main img, main [onerror], #outcome script, #exchanges script, #cards script').count(),
    ).toBe(0)
    expect(await page.locator('.loss').count()).toBe(1)
    await listPlans(page, { ...partners.markup, fundType: markup })
    expect(await page.locator('.card').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

test.each(Object.keys(sandbox))('the cards of the sandbox in %s cut no text off, at any width', async (country) => {
  const partner = sandbox[country] ?? demo
  const listed = await new InvestmentPlansClient({ baseUrl: origin, ...partner }).listPlans()
  await visit('/try', async ({ page }) => {
    await listPlans(page, partner)
    for (const width of [1440, 768, 390]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate(findCutTexts)).toEqual([])
    }
    const texts = await page.locator('.card').allInnerTexts()
    expect(texts.length).toBe(listed.length)
    for (const [index, text] of texts.entries()) {
      const { coolName, hint, nonInvestableNote } = listed[index] ?? {}
      for (const whole of [coolName, hint, nonInvestableNote ?? '']) expect(text).toContain(whole)
      expect(text).not.toMatch(/null|undefined|NaN|not stated|not rated/i)
    }
  })
})

/** Runs in the page. Finds elements of cards that are wider than what their card shows of them. */
function findCutTexts(): string[] {
  return [...document.querySelectorAll('.card')].flatMap((card) => {
    const { left, right } = card.getBoundingClientRect()
    const elements = [...card.querySelectorAll<HTMLElement>('.card-body *')].filter((one) => one.checkVisibility())
    const cut = elements.filter((one) => {
      const box = one.getBoundingClientRect()
      const isClipped = getComputedStyle(one).display !== 'inline' && one.scrollWidth > one.clientWidth + 1
      return !one.matches('.visually-hidden, svg *') && (isClipped || box.left < left || box.right > right)
    })
    return cut.map((one) => `${one.tagName} ${one.className}: ${one.innerText?.slice(0, 40)}`)
  })
}

test('keeps credentials in memory only, and forgets them', async () => {
  await visit('/try', async ({ page }) => {
    const urls: string[] = []
    page.on('request', (request) => urls.push(request.url()))
    await listPlans(page, demo)
    for (const summary of await page.locator('summary').all()) await summary.click()
    const shown = urls.join() + (await page.content())
    expect(shown).not.toContain(demo.clientSecret)
    expect(shown).not.toContain(btoa(`${demo.clientId}:${demo.clientSecret}`))
    const kept = await page.evaluate(async () => ({
      items: localStorage.length + sessionStorage.length,
      cookies: document.cookie,
      databases: await indexedDB.databases(),
      caches: await caches.keys(),
    }))
    expect(kept).toEqual({ items: 0, cookies: '', databases: [], caches: [] })
    const forget = [
      () => page.getByRole('button', { name: 'Forget everything' }).click(),
      // As when the reader leaves the page and goes back to it.
      () => page.evaluate(() => dispatchEvent(new Event('pagehide'))),
    ]
    for (const act of forget) {
      await listPlans(page, demo)
      await act()
      expect(await page.locator('.card, option, #exchanges > *').count()).toBe(0)
      expect(await page.locator('[name=clientSecret]').inputValue()).toBe('')
    }
  })
})

test('shows no plans that arrive after everything was forgotten', async () => {
  await visit('/try', async ({ page }) => {
    const forgotten = Promise.withResolvers<void>()
    await page.route('**/plans', async (route) => {
      await forgotten.promise
      await route.continue()
    })
    await fill(page, demo)
    const asked = page.waitForRequest('**/plans')
    await page.keyboard.press('Enter')
    await asked
    await page.getByRole('button', { name: 'Forget everything' }).click()
    forgotten.resolve()
    await page.locator('#try:not([aria-busy])').waitFor()
    expect(await page.locator('main').innerText()).not.toMatch(/plans\.|Waiting/)
    expect(await page.locator('.card').count()).toBe(0)
  })
})

test('sends no credentials without JavaScript', async () => {
  await visit({ path: '/try', javaScriptEnabled: false }, async ({ page }) => {
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await fill(page, demo)
    await page.keyboard.press('Enter')
    await page.waitForTimeout(500)
    expect(page.url()).toBe(`${origin}/try`)
    expect(requests.join()).not.toContain('secret')
  })
})

type Values = Credentials & Partial<Record<FilterName, string>>

async function fill(page: Page, values: Values): Promise<void> {
  for (const name of ['clientId', 'clientSecret', 'shortName', ...filterNames] as const)
    await page.locator(`[name=${name}]`).fill(values[name] ?? '')
}

/** Returns what the page says about the result. */
async function listPlans(page: Page, values: Values): Promise<string> {
  await fill(page, values)
  await page.getByRole('button', { name: 'List the plans' }).click()
  await page.locator('#outcome .callout').waitFor()
  return page.locator('#outcome').innerText()
}
