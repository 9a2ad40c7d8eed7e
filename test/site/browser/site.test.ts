import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { filterNames, planFilters } from '../../../src/catalog/plan-filters.ts'
import { refusals } from '../../../src/worker/http/api-error.ts'
import { advice, isErrorCode } from '../../../src/site/error-advice.ts'
import { InvestmentPlansClient, type Plan } from '../../../src/site/client/investment-plans.ts'
import { findBarriers, openSite, visit, type Site } from './browser.ts'
import type { Credentials } from './served.ts'

const siteSource = resolve(import.meta.dirname, '../../../src/site')
const tokenLifetimeSeconds = 10

let site: Site
let demo: Credentials
/** What the API says to the demo partner. */
let plans: Plan[]
let client: InvestmentPlansClient
beforeAll(async () => {
  site = await openSite(tokenLifetimeSeconds)
  demo = site.partners.demo
  client = new InvestmentPlansClient({ baseUrl: site.origin, ...demo })
  plans = await client.listPlans()
}, 120_000)
afterAll(() => site?.close())

const paths = [
  '/',
  '/try',
  '/plans',
  '/tokens',
  '/filters',
  '/caching',
  '/limits',
  '/client',
  '/reference',
  '/reference#/token/issueaccesstoken',
  '/reference#/plans/listplans',
  '/plan-fields',
  '/errors',
  '/changes',
]
describe.each(['light', 'dark'] as const)('in %s colors', (colorScheme) => {
  test.each(paths)('%s has no errors, no outside requests and no barriers, at any width', async (path) => {
    await visit(
      site,
      path,
      async ({ page, complaints }) => {
        await page.getByRole('heading').nth(0).waitFor()
        await page.waitForLoadState('networkidle')
        for (const width of [1280, 768, 390]) {
          await page.setViewportSize({ width, height: 900 })
          expect(await findBarriers(page)).toEqual([])
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          expect(overflow).toBeLessThanOrEqual(0)
        }
        expect(complaints).toEqual([])
      },
      { colorScheme },
    )
  })
})

const textPaths = paths.filter((path) => !path.startsWith('/reference'))

test.each(textPaths)('%s weighs less than 100 KB, and says the same without programs', async (path) => {
  const text = await visit(site, path, async ({ page }) => {
    const sizes = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .concat(performance.getEntriesByType('navigation'))
        .map((entry) => (entry as PerformanceResourceTiming).decodedBodySize),
    )
    expect(sizes.length).toBeGreaterThan(3)
    expect(sizes.reduce((one, other) => one + other)).toBeLessThan(100_000)
    return readText(page)
  })
  const options = { javaScriptEnabled: false }
  const plain = await visit(site, path, ({ page }) => readText(page), options)
  expect(plain.replaceAll('https://catalog.example.com', site.origin)).toContain(text)
})

test('every link leads somewhere', async () => {
  const ids = new Map<string, string[]>()
  const links: string[] = []
  for (const path of textPaths) {
    await visit(site, path, async ({ page }) => {
      ids.set(path, await page.locator('[id]').evaluateAll((elements) => elements.map(({ id }) => id)))
      links.push(
        ...(await page.locator('a[href]').evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href))),
      )
    })
  }
  const own = [...new Set(links)].map((link) => new URL(link)).filter(({ origin }) => origin === site.origin)
  expect(own.length).toBeGreaterThan(25)
  const broken: string[] = []
  for (const { pathname, hash } of own) {
    const response = await fetch(site.origin + pathname)
    await response.body?.cancel()
    const isThere = response.ok && (hash === '' || ids.get(pathname)?.includes(hash.slice(1)))
    if (!isThere) broken.push(pathname + hash)
  }
  expect(broken).toEqual([])
})

test('nothing is served without its policy, and samples and client are shown as text', async () => {
  const samples = (await readdir(join(siteSource, 'samples'))).map((file) => `/samples/${file}`)
  const sources = [...samples, '/client/investment-plans.ts']
  const policy = (more: Record<string, string> = {}) =>
    Object.entries({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'font-src': "'self'",
      'img-src': "'self'",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
      ...more,
    })
      .map(([name, value]) => `${name} ${value}`)
      .join('; ')
  const emptyStyle = `'sha256-${createHash('sha256').update('').digest('base64')}'`
  const policies: Record<string, string> = {
    '/plans': policy({ 'img-src': "'self' https:" }),
    '/reference': policy({
      'style-src': `'self' ${emptyStyle}`,
      'font-src': "'self' data:",
      'img-src': "'self' data:",
    }),
  }
  for (const path of ['/', '/try', '/plans', '/reference', '/styles.css', '/redoc.js', '/openapi.json', ...sources]) {
    const { headers } = await fetch(site.origin + path)
    expect({
      path,
      policy: headers.get('Content-Security-Policy'),
      sniffing: headers.get('X-Content-Type-Options'),
      referrer: headers.get('Referrer-Policy'),
      isText: headers.get('Content-Type') === 'text/plain; charset=utf-8',
    }).toEqual({
      path,
      policy: policies[path] ?? policy(),
      sniffing: 'nosniff',
      referrer: 'no-referrer',
      isText: sources.includes(path),
    })
  }
})

test('what is neither a page nor the API is the API’s 404', async () => {
  const response = await fetch(`${site.origin}/nothing`)
  expect([response.status, await response.json()]).toEqual([404, expect.objectContaining({ error: 'not_found' })])
})

test('the start page has the very samples, for copying and for downloading', async () => {
  const files = await readdir(join(siteSource, 'samples'))
  const permissions = ['clipboard-read', 'clipboard-write']
  await visit(
    site,
    '/',
    async ({ page }) => {
      const offered = await page
        .locator('[name=language]')
        .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value))
      expect(offered.toSorted()).toEqual(files)
      for (const file of files) {
        await page.locator(`label:has([value='${file}'])`).click()
        const panel = page.locator(`[data-file='${file}']`)
        const copied: string[] = []
        for (const button of await panel.locator('.copy').all()) {
          await button.click()
          copied.push(await page.evaluate(() => navigator.clipboard.readText()))
        }
        const source = await readFile(join(siteSource, 'samples', file), 'utf8')
        expect(copied).toEqual([expect.stringContaining(`curl -fsSO $API/samples/${file}\n`), source.trimEnd()])
        expect(await (await fetch(`${site.origin}/samples/${file}`)).text()).toBe(source)
      }
      expect(await page.locator('pre', { hasText: 'read -r' }).innerText()).toContain(`export API=${site.origin}\n`)
    },
    { permissions },
  )
})

test('the limits page says what wrangler.toml limits', async () => {
  const config = await readFile(join(siteSource, '../../wrangler.toml'), 'utf8')
  const limits = [...config.matchAll(/^name = "(\w+)"\n.*\nsimple = \{ limit = (\d+), period = 60 \}/gm)]
  const [perClient, perAddress] = ['AUTH_RATE_LIMIT', 'AUTH_ADDRESS_RATE_LIMIT'].map(
    (wanted) => new Set(limits.flatMap(([, name, most]) => (name === wanted ? most : []))),
  )
  const sentence = `${[...(perClient ?? [])].join()} per minute for each client ID, ${[...(perAddress ?? [])].join()} per minute for each IP address`
  expect(sentence).toMatch(/^\d+ per minute/)
  await visit(site, '/limits', async ({ page }) => {
    expect(await page.locator('main').innerText()).toContain(sentence)
  })
})

test('the errors page has every code with its cause and fix', async () => {
  await visit(site, '/errors', async ({ page }) => {
    for (const code of Object.keys(refusals).filter(isErrorCode)) {
      const section = await page.locator(`section:has(#${code})`).innerText()
      expect(section).toContain(String(refusals[code].status))
      expect(section).toContain(advice[code].cause)
      expect(section).toContain(advice[code].fix)
    }
  })
})

test('plan fields has every field of openapi.json', async () => {
  const openapi = JSON.parse(await readFile(join(siteSource, '../openapi/openapi.json'), 'utf8')) as {
    components: { schemas: { Plan: { properties: Record<string, { description: string }> } } }
  }
  const { properties } = openapi.components.schemas.Plan
  await visit(site, '/plan-fields', async ({ page }) => {
    const rows = await page.locator('tbody tr').allInnerTexts()
    for (const [name, { description }] of Object.entries(properties)) {
      expect(rows.find((row) => row.startsWith(`${name}\t`))).toContain(description)
    }
    expect(Object.keys(properties).length).toBe(32)
    expect(rows.some((row) => row.startsWith('category.displayName\t'))).toBe(true)
  })
})

test('the reference draws both endpoints with what is in openapi.json', async () => {
  await visit(site, '/reference#/plans/listplans', async ({ page, complaints }) => {
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
    // What it would tell its makers, it tells after some seconds.
    await page.waitForTimeout(7000)
    expect(complaints).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })
})

test('a keyboard goes past the navigation, and from one language to the next', async () => {
  await visit(site, '/', async ({ page }) => {
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
    await page.locator('[value="curl.sh"]').focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('.panel:visible').getAttribute('data-file')).toBe('javascript.mjs')
  })
})

test.each(['/try', '/plans'])('%s sends nothing without its program', async (path) => {
  await visit(
    site,
    path,
    async ({ page }) => {
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.locator('[name=clientId]').fill('client')
      await page.locator('[name=clientSecret]').fill('secret')
      if (path === '/plans') await page.locator('[name=shortName]').fill('demo')
      await page.keyboard.press('Enter')
      await page.waitForTimeout(500)
      expect(page.url()).toBe(site.origin + path)
      expect(requests.join()).not.toContain('secret')
    },
    { javaScriptEnabled: false },
  )
})

const { message: isWrong } = refusals.invalid_client
const wrongCredentials: [string, Partial<Credentials>, string, string][] = [
  ['a wrong secret', { clientSecret: 'wrong' }, isWrong, advice.invalid_client.fix],
  ['credentials beyond Latin-1', { clientId: 'Ünknown', clientSecret: 'с' }, isWrong, advice.invalid_client.fix],
]

describe('try it', () => {
  test('gets a token and the list, and a 304 for a list that it has', async () => {
    await visit(site, '/try', async ({ page, complaints }) => {
      await getToken(page, demo)
      expect(await page.locator('#token-response').innerText()).toContain(`"expires_in": ${tokenLifetimeSeconds}`)
      const answer = await listPlans(page, demo.shortName)
      expect(answer).toContain(`${plans.length} plans`)
      for (const { identifier } of plans) expect(answer).toContain(`"identifier": "${identifier}"`)
      await page.locator('[name=isConditional]').check()
      expect(await listPlans(page, demo.shortName)).toContain('HTTP 304')
      expect(await page.getByRole('status').nth(1).innerText()).toContain('The list hasn’t changed')
      expect(complaints).toEqual([])
      const { clientId, clientSecret } = demo
      for (const summary of await page.locator('summary').all()) await summary.click()
      const shown = await page.content()
      expect(shown).toContain('Basic ••••')
      expect(shown).not.toContain(clientSecret)
      expect(shown).not.toContain(btoa(`${clientId}:${clientSecret}`))
    })
  })

  test.each(wrongCredentials)('says what to do about %s', async (_, wrong, message, fix) => {
    await visit(site, '/try', async ({ page }) => {
      await getToken(page, { ...demo, ...wrong })
      const answer = await page.locator('#token-outcome').innerText()
      expect(answer).toContain(message)
      expect(answer).toContain(fix)
      expect(await page.locator('[name=accessToken]').inputValue()).toBe('')
    })
  })

  test('says what to do about an expired token, another’s short name, and filters that can’t be read', async () => {
    await visit(site, '/try', async ({ page }) => {
      await getToken(page, demo)
      expect(await listPlans(page, 'other')).toContain(advice.forbidden.fix)
      await page.locator('[name=currency]').fill('12')
      expect(await listPlans(page, demo.shortName)).toContain('such as KES')
      await page.waitForTimeout(1000 * (tokenLifetimeSeconds + 1))
      const answer = await listPlans(page, demo.shortName)
      expect(answer).toContain(refusals.expired_token.message)
      expect(answer).toContain(advice.expired_token.fix)
    })
  })

  test('takes a token as a terminal breaks it, and says what to do about one that is none', async () => {
    await visit(site, '/try', async ({ page }) => {
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

  test('says what to do about an empty list', async () => {
    await visit(site, '/try', async ({ page }) => {
      await getToken(page, site.partners.lonely)
      expect(await listPlans(page, 'lonely')).toContain('no plan is viewable in your country yet: contact support')
    })
  })

  test('says what to do when the API fails, and when it is not there', async () => {
    await visit(site, '/try', async ({ page }) => {
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
      await failWith(page, 'not there')
      expect(await listPlans(page, 'demo')).toContain('Check your connection, then try again.')
    })
  })
})

describe('your plans', () => {
  test('are cards that show what the API returned', async () => {
    await visit(site, '/plans', async ({ page, complaints }) => {
      await signIn(page, demo)
      expect(await page.locator('#count').innerText()).toBe(`${plans.length} plans`)
      const cards = await page.locator('.card').all()
      expect(await readIdentifiers(page)).toEqual(plans.map(({ identifier }) => identifier))
      for (const [index, plan] of plans.entries()) {
        await cards[index]?.locator('summary').click()
        const text = ((await cards[index]?.innerText()) ?? '').replaceAll(/\s+/g, ' ')
        for (const expected of listWhatIsSeen(plan)) expect(text).toContain(expected.replaceAll(/\s+/g, ' '))
      }
      expect(complaints).toEqual([])
      expect(await findBarriers(page)).toEqual([])
      for (const [index, { factSheet, prospectus }] of plans.entries()) {
        expect(await cards[index]?.getByText('Fact sheet').getAttribute('href')).toBe(factSheet)
        expect(await cards[index]?.getByText('Prospectus').getAttribute('href')).toBe(prospectus)
      }
      const landscapes = await page.locator('.artwork').evaluateAll((all) => all.map(({ innerHTML }) => innerHTML))
      expect(new Set(landscapes).size).toBe(plans.length)
      const highest = Math.max(...plans.flatMap(({ performance1: value }) => value ?? []))
      const tallest = await page
        .locator('.card', { hasText: `${highest.toFixed(1)}%` })
        .locator('.gain')
        .first()
        .getAttribute('height')
      expect(Number(tallest)).toBe(44)
    })
  })

  test('are filtered as the API filters', async () => {
    await visit(site, '/plans', async ({ page }) => {
      await signIn(page, demo)
      const choose = async (name: string, value: string) => {
        const answered = page.waitForResponse((response) => response.url().includes('/plans?'))
        await page.locator(`[name=${name}]`).selectOption(value)
        await answered
        await page.locator('#cards:not([aria-busy])').waitFor({ state: 'attached' })
      }
      const optionsOf = (name: string) =>
        page.locator(`[name=${name}] option`).evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))
      for (const name of filterNames) {
        const [any, ...values] = await optionsOf(name)
        expect(any).toBe('')
        expect(values.length).toBeGreaterThan(1)
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

  test('are those that were asked for last, and none once signed out', async () => {
    await visit(site, '/plans', async ({ page }) => {
      await page.route('**/auth', async (route) => {
        await page.waitForTimeout(300)
        await route.continue()
      })
      const tokens: string[] = []
      page.on('request', (request) => request.url().endsWith('/auth') && tokens.push(request.url()))
      await signIn(page, demo, '[aria-busy]')
      await page.keyboard.press('Enter')
      await page.locator('.card').first().waitFor()
      expect(tokens.length).toBe(1)
      expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('categoryId')

      const late: (() => void)[] = []
      await page.route('**/plans?currency=USD', async (route) => {
        await new Promise<void>((resolveLate) => late.push(resolveLate))
        await route.continue()
      })
      const arrive = async () => {
        while (late.length === 0) await page.waitForTimeout(20)
        const answered = page.waitForResponse('**/plans?currency=USD')
        for (const resolveLate of late.splice(0)) resolveLate()
        await answered
        await page.waitForTimeout(300)
      }
      await page.locator('[name=currency]').selectOption('USD')
      await page.locator('[name=currency]').selectOption('KES')
      await page.waitForFunction((all) => document.querySelectorAll('.card').length < all, plans.length)
      const shown = await readIdentifiers(page)
      await arrive()
      expect(await readIdentifiers(page)).toEqual(shown)

      await page.locator('[name=currency]').selectOption('USD')
      await page.getByRole('button', { name: 'Sign out' }).click()
      expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('clientId')
      await arrive()
      expect(await page.locator('.card, [aria-busy]').count()).toBe(0)
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.locator('#filters').dispatchEvent('change')
      await page.waitForTimeout(200)
      expect(asked).toEqual([])
    })
  })

  test.each([
    ...wrongCredentials,
    ['another’s short name', { shortName: 'other' }, refusals.forbidden.message, advice.forbidden.fix],
  ])('say what to do about %s', async (_, wrong, message, fix) => {
    await visit(site, '/plans', async ({ page }) => {
      await signIn(page, { ...demo, ...wrong }, '#failure .callout')
      const failure = await page.getByRole('alert').innerText()
      expect(failure).toContain(message)
      expect(failure).toContain(fix)
    })
  })

  test('say what to do about an empty list', async () => {
    await visit(site, '/plans', async ({ page }) => {
      await signIn(page, site.partners.lonely, '#filters')
      await page.getByText('No plan is viewable in your country yet. Ask support').waitFor()
      expect(await page.locator('.card').count()).toBe(0)
    })
  })

  test('say what to do when the API fails, and come back with it; an expired token is renewed', async () => {
    await visit(site, '/plans', async ({ page }) => {
      await signIn(page, demo)
      await failWith(page, 503)
      await page.locator('[name=currency]').selectOption('USD')
      await page.getByText(advice.unavailable.fix).waitFor()
      await failWith(page, 'not there')
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

  test('show markup in texts as it is, and returns below zero as losses', async () => {
    const { markup, markupUrl } = site
    await visit(site, '/plans', async ({ page, complaints }) => {
      await signIn(page, site.partners.hostile)
      expect(await page.locator('.card h2').innerText()).toBe(markup)
      expect(await page.locator('.card-hint').innerText()).toBe(markup)
      expect(await page.locator('[name=fundType] option').last().innerText()).toBe(markup)
      expect(await page.locator('.art').getAttribute('data-image')).toBe(markupUrl)
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

  test('load their artwork from elsewhere when asked to, and only then', async () => {
    await visit(site, '/plans', async ({ page, complaints }) => {
      const picture = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
      await page.route('https://images.example.com/**', (route) =>
        route.request().url().includes('gold')
          ? route.fulfill({ contentType: 'image/gif', body: picture })
          : route.abort(),
      )
      await signIn(page, demo)
      expect(complaints).toEqual([])
      await page.getByLabel('Load the artwork from images.example.com').check()
      await page.waitForFunction(() => document.querySelectorAll('.art img').length === 1)
      expect(await page.locator('.art:has(img)').getAttribute('data-image')).toContain('gold')
      expect(await page.locator('.art img').getAttribute('referrerpolicy')).toBe('no-referrer')
      expect(
        complaints.every((complaint) => !complaint.startsWith('asked for') || complaint.includes('images.example.com')),
      ).toBe(true)
      await page.getByLabel('Load the artwork from images.example.com').uncheck()
      expect(await page.locator('.art img').count()).toBe(0)
    })
  })

  test('keep credentials in memory alone', async () => {
    await visit(site, '/plans', async ({ page }) => {
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
      // As when somebody leaves the page, and comes back to it as it was left.
      await page.evaluate(() => dispatchEvent(new Event('pagehide')))
      expect(await page.locator('.card').count()).toBe(0)
      expect(await page.locator('#sign-in').isVisible()).toBe(true)
      expect(await page.locator('[name=clientId]').inputValue()).toBe('')
    })
  })
})

/** What is to be seen, other than what programs add. */
async function readText(page: Page): Promise<string> {
  return page.evaluate(() => {
    for (const element of document.querySelectorAll('.copy, noscript')) element.remove()
    const text = document.querySelector('main')?.innerText ?? ''
    return text.replaceAll(/\s+/g, ' ')
  })
}

async function getToken(page: Page, { clientId, clientSecret }: Credentials): Promise<void> {
  await page.locator('[name=clientId]').fill(clientId)
  await page.locator('[name=clientSecret]').fill(clientSecret)
  await page.getByRole('button', { name: 'Get a token' }).click()
  await page.locator('#token-form:not([aria-busy])').waitFor()
}

/** @returns the answer as it is shown. */
async function listPlans(page: Page, shortName: string): Promise<string> {
  await page.locator('[name=shortName]').fill(shortName)
  await page.getByRole('button', { name: 'List the plans' }).click()
  await page.locator('#plans-form:not([aria-busy])').waitFor()
  return (await page.locator('#plans-outcome, #plans-response').allInnerTexts()).join('\n')
}

async function signIn(page: Page, { clientId, clientSecret, shortName }: Credentials, until = '.card'): Promise<void> {
  await page.locator('[name=clientId]').fill(clientId)
  await page.locator('[name=clientSecret]').fill(clientSecret)
  await page.locator('[name=shortName]').fill(shortName)
  await page.getByRole('button', { name: 'Show my plans' }).click()
  await page.locator(until).first().waitFor()
}

/** 503 is the API's own answer, the others are somebody else's on the way. */
async function failWith(page: Page, failure: 200 | 502 | 503 | 'not there'): Promise<void> {
  await page.unrouteAll()
  await page.route('**/api/**', (route) => {
    if (failure === 'not there') return route.abort()
    if (failure !== 503)
      return route.fulfill({ status: failure, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' })
    const body = { message: refusals.unavailable.message, error: 'unavailable', requestId: crypto.randomUUID() }
    return route.fulfill({ status: 503, headers: { 'Retry-After': '5' }, json: body })
  })
}

const readIdentifiers = (page: Page) =>
  page.locator('.card').evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset['identifier']))

function listWhatIsSeen(plan: Plan): string[] {
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
