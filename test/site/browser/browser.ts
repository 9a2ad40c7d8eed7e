// The site in a real Chromium, on stores of the test file's own. Node only.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import type { Served } from './served.ts'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface Site extends Served {
  browser: Browser
  close: () => Promise<void>
}

/** @param tokenLifetimeSeconds short enough to wait for its end. */
export async function openSite(tokenLifetimeSeconds: number): Promise<Site> {
  await access(executablePath).catch(() => {
    throw new Error(`There is no ${executablePath}. Install Chromium, or say with CHROMIUM where it is.`)
  })
  const program = join(import.meta.dirname, 'serve.ts')
  const server = fork(program, [String(tokenLifetimeSeconds)], { execArgv: ['--disable-warning=ExperimentalWarning'] })
  const ended = once(server, 'exit')
  const [served] = (await Promise.race([
    once(server, 'message'),
    ended.then(() => {
      throw new Error('The server of the site has ended.')
    }),
  ])) as [Served]
  const browser = await chromium.launch({ executablePath, args: flags })
  return {
    ...served,
    browser,
    close: async () => {
      await browser.close()
      server.disconnect()
      await ended
    },
  }
}

export interface Visit {
  page: Page
  /** What is wrong with a page that nobody has touched: errors in its console, requests to others. */
  complaints: string[]
}

/** Opens a page in a profile of its own, and closes it after the work. */
export async function visit<Result>(
  { browser, origin }: Site,
  path: string,
  work: (visit: Visit) => Promise<Result>,
  options: BrowserContextOptions = {},
): Promise<Result> {
  const context = await browser.newContext({ baseURL: origin, ...options })
  try {
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== origin && url.protocol !== 'data:') complaints.push(`asked for ${url.href}`)
    })
    await page.goto(path)
    return await work({ page, complaints })
  } finally {
    await context.close()
  }
}

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds wrong, each with the elements. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof import('axe-core') }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
  })
}
