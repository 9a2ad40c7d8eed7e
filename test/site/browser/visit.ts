// Opens pages of the site in Chromium. start-site.ts starts both.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core'
import { inject } from 'vitest'

const { origin, browserEndpoint } = inject('site')

interface Visit {
  page: Page
  /** Errors in the page's console, and requests to other origins. */
  complaints: string[]
}

/** Opens a page with a new profile, calls `work`, and closes the page. @param to a path, or with options of the browser. */
export async function visit<Result>(
  to: string | (BrowserContextOptions & { path: string }),
  work: (visit: Visit) => Promise<Result>,
): Promise<Result> {
  const { path, ...options } = typeof to === 'string' ? { path: to } : to
  const browser = await chromium.connect(browserEndpoint)
  try {
    const context = await browser.newContext({ baseURL: origin, ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== origin && url.protocol !== 'data:') complaints.push(`requested ${url.href}`)
    })
    await page.goto(path)
    return await work({ page, complaints })
  } finally {
    await browser.close()
  }
}

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns the accessibility violations that axe finds, each with the HTML of its elements. */
export async function findViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof import('axe-core') }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
  })
}
