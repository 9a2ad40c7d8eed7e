// What axe doesn't see: text over text, buttons over code, text beyond the screen, and targets of links behind the header.
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { listSections } from '../../../src/site/table-of-contents.ts'
import { visit } from './visit.ts'

const paths = [...listSections().flatMap(({ pages }) => pages.map(({ path }) => path)), '/nothing']
const reducedMotion = { reducedMotion: 'reduce' } as const

test('no page has text over other text or beyond the screen, at any width', async () => {
  await visit({ path: '/', ...reducedMotion }, async ({ page }) => {
    const found: string[] = []
    for (const path of paths) {
      await page.goto(path)
      for (const width of [1280, 1024, 768, 390, 320]) {
        await page.setViewportSize({ width, height: 900 })
        found.push(...(await page.evaluate(findLayoutFaults)).map((fault) => `${path} at ${width}: ${fault}`))
      }
    }
    expect(found).toEqual([])
  })
})

test.each([1280, 390])('at %s pixels, no page moves when its script and its font come late', async (width) => {
  await visit({ path: '/nothing', ...reducedMotion, viewport: { width, height: 900 } }, async ({ page }) => {
    await page.route(/every-page\.js|figtree/, async (route) => {
      await setTimeout(200)
      await route.continue()
    })
    const shifts: [path: string, shift: number][] = []
    for (const path of paths) {
      await page.goto(path)
      shifts.push([path, await page.evaluate(measureShift)])
    }
    // The address of this service in an example moves the rest of its line. A deployed page has its address from the build.
    expect(shifts.filter(([, shift]) => shift > 0.002)).toEqual([])
  })
})

test('on a wide screen, no code is cut off', async () => {
  await visit({ path: '/', ...reducedMotion, viewport: { width: 1440, height: 900 } }, async ({ page }) => {
    const found: string[] = []
    for (const path of paths) {
      await page.goto(path)
      // The code of every tab, and of what is folded.
      await page.evaluate(() => {
        for (const panel of document.querySelectorAll<HTMLElement>('.panel')) panel.style.display = 'block'
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll('pre')]
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map(({ textContent }) => textContent.slice(0, 40)),
      )
      found.push(...cut.map((code) => `${path}: ${code}`))
    }
    expect(found).toEqual([])
  })
})

test.each([
  [320, 700],
  [350, 700],
  // 1,280 by 1,024 pixels at a zoom of 400 %.
  [320, 256],
  [1280, 400],
  [768, 900],
])('at %s by %s pixels, the header does not cover the target of a link', async (width, height) => {
  await visit({ path: '/errors#forbidden', ...reducedMotion, viewport: { width, height } }, async ({ page }) => {
    const target = await page.locator('#forbidden').boundingBox()
    const header = await page.locator('header.site').boundingBox()
    expect(target?.y).toBeGreaterThanOrEqual(Math.max(0, (header?.y ?? 0) + (header?.height ?? 0)))
    expect(target?.y).toBeLessThan(height)
  })
})

test.each([
  [1280, 'open beside the text, and stays there', true],
  [390, 'folded below the title', false],
])('at %s pixels, "On this page" is %s', async (width, _, isOpen) => {
  await visit({ path: '/reference', ...reducedMotion, viewport: { width, height: 900 } }, async ({ page }) => {
    const contents = page.getByRole('navigation', { name: 'On this page' })
    expect(await contents.getByRole('link', { name: 'PlanCategory' }).isVisible()).toBe(isOpen)
    const title = await page.getByRole('heading', { level: 1 }).boundingBox()
    expect(((await contents.boundingBox())?.y ?? 0) > (title?.y ?? Infinity)).toBe(!isOpen)
    await page.evaluate(() => scrollTo(0, 3000))
    expect(((await contents.getByText('On this page').boundingBox())?.y ?? 0) > 0).toBe(isOpen)
  })
})

test('a phone opens the list of pages from the header, also without JavaScript', async () => {
  await visit({ path: '/', viewport: { width: 390, height: 800 }, javaScriptEnabled: false }, async ({ page }) => {
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Errors' })
    expect(await link.count()).toBe(0)
    await page.getByRole('button', { name: 'Menu' }).click()
    await link.click()
    expect(new URL(page.url()).pathname).toBe('/errors')
  })
})

test('the API reference is shorter than 15,000 pixels on a phone', async () => {
  await visit({ path: '/reference', viewport: { width: 390, height: 844 } }, async ({ page }) => {
    expect(await page.evaluate(() => document.body.scrollHeight)).toBeLessThan(15_000)
  })
})

/** Runs in the page. Returns the part of the screen that moved, times the distance: https://web.dev/articles/cls. */
async function measureShift(): Promise<number> {
  let sum = 0
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) sum += (entry as PerformanceEntry & { value: number }).value
  })
  observer.observe({ type: 'layout-shift', buffered: true })
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  return sum
}

/** Runs in the page. */
function findLayoutFaults(): string[] {
  interface Line {
    element: Element
    text: string
    left: number
    right: number
    top: number
    bottom: number
  }
  /** The part of a line that its scrolling or clipping ancestors show. */
  const clip = (line: Line): Line => {
    const shown = { ...line }
    for (let parent: Element | null = line.element; parent && parent !== document.body; parent = parent.parentElement) {
      if (getComputedStyle(parent).overflowX === 'visible') continue
      const frame = parent.getBoundingClientRect()
      shown.left = Math.max(shown.left, frame.left)
      shown.right = Math.min(shown.right, frame.right)
      shown.top = Math.max(shown.top, frame.top)
      shown.bottom = Math.min(shown.bottom, frame.bottom)
    }
    return shown
  }
  const lines: Line[] = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent?.trim() ?? ''
    const element = texts.currentNode.parentElement
    if (text === '' || !element?.checkVisibility({ visibilityProperty: true }) || element.matches('.skip')) continue
    const range = document.createRange()
    range.selectNodeContents(texts.currentNode)
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const line = clip({ element, text: text.slice(0, 40), left, right, top, bottom })
      if (line.right - line.left > 1 && line.bottom - line.top > 1) lines.push(line)
    }
  }
  const faults = lines
    .filter(({ left, right }) => left < -1 || right > innerWidth + 1)
    .map(({ text }) => `"${text}" is beyond the screen`)
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways')
  for (const button of document.querySelectorAll('.code > .copy')) {
    const { left, right, top, bottom } = button.getBoundingClientRect()
    const code = button.previousElementSibling?.getBoundingClientRect()
    if (code && left < code.right && right > code.left && top < code.bottom && bottom > code.top)
      faults.push(`a button is over "${button.previousElementSibling?.textContent?.slice(0, 40)}"`)
  }
  lines.sort((one, other) => one.top - other.top)
  for (const [index, one] of lines.entries()) {
    for (let next = index + 1; next < lines.length; next++) {
      const other = lines[next]
      // Boxes of neighboring lines may touch: half of a line is text over text.
      const overlapped = other && Math.min(one.bottom, other.bottom) - other.top
      if (!other || overlapped === undefined || overlapped <= 0) break
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left)
      if (width > 2 && overlapped > (other.bottom - other.top) / 2) faults.push(`"${other.text}" is over "${one.text}"`)
    }
  }
  return faults
}
