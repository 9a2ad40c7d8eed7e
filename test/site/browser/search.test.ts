import { expect, test } from 'vitest'
import { support } from '../../../src/api/promises.ts'
import { findViolations, visit } from './visit.ts'

test('the keyboard alone finds a field and opens it; nothing is loaded before', async () => {
  await visit('/tokens', async ({ page, complaints }) => {
    const files: string[] = []
    page.on('request', (request) => files.push(new URL(request.url()).pathname))
    await page.waitForLoadState('networkidle')
    expect(files.filter((file) => file.includes('search'))).toEqual([])

    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.type('partialw')
    await page.getByRole('link', { name: 'Plan.partialWithdrawable' }).waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('partialw')
    expect(await page.getByRole('dialog').getByRole('status').innerText()).toBe('3 results')
    expect(await page.locator('dialog mark').first().innerText()).toBe('partialWithdrawable')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe('/plans#partialwithdrawable')
    await page.keyboard.press('ArrowUp')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/plans#partialwithdrawable')
    expect(complaints).toEqual([])
  })
})

test('keeps what the reader types at once, before the engine and the index have come', async () => {
  await visit('/', async ({ page }) => {
    await page.waitForLoadState('networkidle')
    const arrived = Promise.withResolvers<void>()
    // The scripts of the page itself are there.
    await page.route(/\/search|\/browser\//, async (route) => {
      await arrived.promise
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('rate limit')
    expect(await page.getByRole('searchbox').inputValue()).toBe('rate limit')
    arrived.resolve()
    await page.getByRole('link', { name: '429 rate_limited Errors' }).waitFor()
  })
})

test('Enter opens the best result, also on the same page; Escape gives the focus back', async () => {
  await visit('/errors', async ({ page }) => {
    await page.waitForLoadState('networkidle')
    const button = page.getByRole('button', { name: 'Search' })
    await button.press('Enter')
    await page.getByRole('searchbox').fill('too many')
    await page.getByRole('link', { name: '429 rate_limited Errors' }).waitFor()
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL('**/errors#rate_limited')
    expect(await page.getByRole('dialog').count()).toBe(0)

    await button.focus()
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('search')
  })
})

test('Enter that chooses a candidate of an input method doesn’t leave the page', async () => {
  await visit('/', async ({ page }) => {
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('token')
    await page.locator('dialog li').first().waitFor()
    await page.getByRole('searchbox').dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true })
    expect(new URL(page.url()).pathname).toBe('/')
    expect(await page.getByRole('dialog').count()).toBe(1)
  })
})

test('says when nothing matches, and when the index can’t be loaded', async () => {
  await visit('/', async ({ page }) => {
    await page.route('**/search-index.json', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('The search can’t be loaded.').waitFor()
    await page.getByRole('searchbox').fill('zebra')
    await page.getByText('No page matches.').waitFor()
    const address = page.getByRole('dialog').getByRole('link', { name: support.email })
    expect(await address.getAttribute('href')).toBe(`mailto:${support.email}`)
    expect(await address.evaluate((link) => getComputedStyle(link).display)).toBe('inline')
    await page.getByRole('searchbox').fill('<b>filters')
    await page.locator('dialog li').first().waitFor()
    expect(await page.locator('dialog b').count()).toBe(0)
  })
})

test.each(['light', 'dark'] as const)(
  'the results have no accessibility violations in %s colors',
  async (colorScheme) => {
    await visit({ path: '/', colorScheme }, async ({ page, complaints }) => {
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 700 })
        await page.getByRole('button', { name: 'Search' }).click()
        await page.getByRole('searchbox').fill('token')
        await page.locator('dialog li').nth(11).waitFor()
        await page.waitForLoadState('networkidle')
        expect(await findViolations(page)).toEqual([])
        const overflow = await page.locator('dialog').evaluate((dialog) => dialog.scrollWidth - dialog.clientWidth)
        expect(overflow).toBe(0)
        await page.keyboard.press('Escape')
      }
      expect(complaints).toEqual([])
    })
  },
)
