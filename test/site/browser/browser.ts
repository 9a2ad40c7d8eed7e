// The site in a real Chromium, served by npm run dev on a state of the test file's own. Node only.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

const project = resolve(import.meta.dirname, '../../..')
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

export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
}

export interface Site {
  origin: string
  /** Of the demo partner. */
  credentials: Credentials
  browser: Browser
  createPartner: (shortName: string, country: string) => Promise<Credentials>
  importPlans: (plans: object[]) => Promise<void>
  close: () => Promise<void>
}

/** @param tokenLifetimeSeconds short enough to wait for its end. */
export async function openSite(tokenLifetimeSeconds: number): Promise<Site> {
  await access(executablePath).catch(() => {
    throw new Error(`There is no ${executablePath}. Install Chromium, or say with CHROMIUM where it is.`)
  })
  const state = await mkdtemp(join(tmpdir(), 'site-'))
  const server = spawn(
    'npm',
    ['run', 'dev', '--', '--port=0', `--persist-to=${state}`, `--var=TOKEN_LIFETIME_SECONDS:${tokenLifetimeSeconds}`],
    { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const ended = once(server, 'exit')
  const isAnnounced = async () => {
    for (;;) {
      if (/^ {2}curl /m.test(output)) return
      await once(server.stdout, 'data')
    }
  }
  await Promise.race([
    isAnnounced(),
    ended.then(() => {
      throw new Error(`The dev server has ended:\n${output}`)
    }),
  ])
  const read = (pattern: RegExp) => {
    const found = pattern.exec(output)?.[1]
    if (found === undefined) throw new Error(`${pattern} is not in:\n${output}`)
    return found
  }
  const operate = async (...args: string[]) => {
    const command = ['run', '-s', 'ops', '--', ...args, '--json', '--persist-to', state]
    const { stdout } = await promisify(execFile)('npm', command, { cwd: project })
    return stdout
  }
  const browser = await chromium.launch({ executablePath, args: flags })
  return {
    origin: read(/served at (http:\/\/[^/]+)/),
    credentials: {
      shortName: read(/short name +(\S+)/),
      clientId: read(/client ID +(\S+)/),
      clientSecret: read(/client secret +(\S+)/),
    },
    browser,
    createPartner: async (shortName, country) => {
      const named = ['--short-name', shortName, '--name', shortName, '--country', country]
      return JSON.parse(await operate('partner', 'create', ...named)) as Credentials
    },
    importPlans: async (plans) => {
      const file = join(state, 'catalog.json')
      await writeFile(file, JSON.stringify({ plans }))
      await operate('catalog', 'import', file)
    },
    close: async () => {
      await browser.close()
      server.kill()
      await ended
      await rm(state, { recursive: true })
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
