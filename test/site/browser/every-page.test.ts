import type { Page } from 'playwright-core'
import { expect, inject, test } from 'vitest'
import { listSections } from '../../../src/site/table-of-contents.ts'
import { builtOrigin } from './provided-site.ts'
import { findViolations, visit } from './visit.ts'

const { origin } = inject('site')

const paths = listSections().flatMap(({ pages }) => pages.map(({ path }) => path))

test.each(paths)(
  '%s has no errors, no requests to other origins, and no accessibility violations at any width, in light and in dark',
  async (path) => {
    await visit(path, async ({ page, complaints }) => {
      await page.getByRole('heading').nth(0).waitFor()
      await page.waitForLoadState('networkidle')
      for (const width of [1280, 768, 320]) {
        await page.setViewportSize({ width, height: 900 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          expect(await findViolations(page)).toEqual([])
        }
      }
      expect(complaints).toEqual([])
    })
  },
)

test.each(paths)('%s loads less than 100 KB, and shows the same text without JavaScript', async (path) => {
  const text = await visit(path, async ({ page }) => {
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
  const plainText = await visit({ path, javaScriptEnabled: false }, ({ page }) => readText(page))
  expect(plainText.replaceAll(builtOrigin, origin)).toContain(text)
})

test('the first Tab key stop skips the navigation', async () => {
  await visit('/', async ({ page }) => {
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
  })
})

/** Returns the visible text without the parts that scripts add or replace. */
async function readText(page: Page): Promise<string> {
  return page.evaluate(() => {
    for (const element of document.querySelectorAll('.copy, .contents, noscript')) element.remove()
    const text = document.querySelector('main')?.innerText ?? ''
    return text.replaceAll(/\s+/g, ' ')
  })
}
