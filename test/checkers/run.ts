// npm run checkers -- --url http://localhost:8787 : checks the site, openapi.json and the API of a running service with other
// people's programs, and prints one line per check. --every-page measures the speed of all pages. The credentials of a partner are in
// CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { originRule } from '../../src/ops/commands/frame/shared-flags.ts'
import { readOrigin } from '../../src/api/origin.ts'
import { advice } from '../../src/site/blocks/error-advice.ts'
import { findAddress, runThroughPrism } from './prism-proxy.ts'
import { createPrograms, type Programs } from './programs.ts'

const root = join(import.meta.dirname, '../..')
const document = 'src/openapi/openapi.json'
const site = join(root, 'dist/site')

/** The pages that Lighthouse measures on every change: the start page, the largest one, one with scripts, and one of text. */
const onePageOfEachKind = ['index.html', 'reference.html', 'try.html', 'plans.html']

interface Link {
  url: string
  parent?: string
  status: number
  state: string
}

interface Service {
  origin: string
  credentials: { CLIENT_ID: string; CLIENT_SECRET: string; SHORT_NAME: string }
  /** The files of dist/site that it serves. */
  files: readonly string[]
  /** Which of the pages Lighthouse looks at, for some seconds each. */
  measured: readonly string[]
}

/**
 * Each check rejects with an error that has the output of its program. They run side by side. A program that found nothing to
 * check also ends with code 0, so each check makes sure that its program had its files and requests.
 */
function listChecks(service: Service, programs: Programs): Record<string, () => Promise<unknown>> {
  const { start, run } = programs
  const { origin, credentials, files, measured } = service
  const pages = files.filter((file) => file.endsWith('.html'))
  return {
    'html-validate: every page of dist/site': () =>
      run(tool('html-validate'), [
        '--preset',
        'standard,a11y',
        ...[...pages, '404.html'].map((page) => join(site, page)),
      ]),

    'linkinator: every link, fragment and file on this host': () => checkLinks(service, start),

    [`lighthouse: ${measured.length} pages, on a phone`]: () =>
      run(process.execPath, ['test/checkers/lighthouse-scores.mjs', ...measured.map((page) => getUrl(origin, page))], {
        // A minute for each page, as for each other program.
        deadlineMs: measured.length * 60_000,
      }),

    'spectral: openapi.json, with the OWASP rules': () =>
      run(tool('spectral'), ['lint', '--ruleset', 'test/checkers/spectral.yaml', '--fail-severity', 'warn', document]),

    // The smoke test sends wrong requests on purpose, and asks for two paths that the document doesn't have.
    'prism: the smoke test, through a proxy that knows openapi.json': async () =>
      runThroughPrism(
        start(tool('prism'), ['proxy', document, origin, '--port', '0']),
        (proxy) => run(process.execPath, ['src/ops/main.mjs', 'smoke', '--url', proxy], { env: credentials }),
        [
          'post /api/v3/partners/auth: request Invalid security scheme used',
          'get /api/v3/partners/any/plans: request Invalid security scheme used',
          'get /api/v3/partners/nothing/here: request Selected route not found',
          'get /: request Selected route not found',
          `get /api/v3/partners/${credentials.SHORT_NAME}/plans: request.query.categoryid Request query parameter categoryid must be integer`,
        ],
      ),

    'prism: as a mock server, each error that a partner can see only there': () =>
      checkMockedErrors(programs, credentials),

    'npm and tsc: the TypeScript client, as a package and as a file': () =>
      run(process.execPath, ['test/checkers/typescript-client.ts', '--url', origin], { env: credentials }),

    'python3: the Python client': () =>
      run('python3', ['test/checkers/python-client.py'], { env: { API: origin, ...credentials } }),

    'openid-client, oauth4webapi, @badgateway/oauth2-client, curl with base64: a token each': () =>
      run(process.execPath, ['test/checkers/oauth-clients.mjs', '--url', origin], { env: credentials }),
  }
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const options = { url: { type: 'string' }, 'every-page': { type: 'boolean' } } as const
  const { url = '', 'every-page': isEveryPage } = parseArgs({ args, options }).values
  const origin = readOrigin(url)
  const { CLIENT_ID, CLIENT_SECRET, SHORT_NAME, ...env } = process.env
  if (origin === undefined || !CLIENT_ID || !CLIENT_SECRET || !SHORT_NAME) {
    process.stderr.write(`${originRule} CLIENT_ID, CLIENT_SECRET and SHORT_NAME must be set.\n`)
    return 2
  }
  if (!existsSync(tool('prism'))) {
    process.stderr.write('Install the programs first: npm ci --prefix test/checkers\n')
    return 2
  }
  const files = await listFiles()
  if (!files.some((file) => file.endsWith('.html'))) {
    process.stderr.write('dist/site has no pages. Build it first: npm run site\n')
    return 2
  }

  // Not once: at Ctrl+C npm sends a second SIGINT.
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(signal))
  const folder = await mkdtemp(join(tmpdir(), 'checkers-'))
  try {
    // The programs get no credentials, except those that send requests with them. Lighthouse finds Chromium in CHROME_PATH.
    const CHROME_PATH = env['CHROME_PATH'] ?? env['CHROMIUM'] ?? '/usr/bin/chromium'
    const programs = createPrograms({ env: { ...env, CHROME_PATH, TMPDIR: folder }, folder: root }, stop.signal)
    const measured = isEveryPage ? files.filter((file) => file.endsWith('.html')) : onePageOfEachKind
    const service = { origin, credentials: { CLIENT_ID, CLIENT_SECRET, SHORT_NAME }, files, measured }
    const isOk = await runChecks(listChecks(service, programs), stop.signal)
    const { aborted, reason } = stop.signal
    if (aborted) return 128 + constants.signals[reason as NodeJS.Signals]
    return isOk ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, maxRetries: 10 })
  }
}

/** Resolves to false when a check failed. */
async function runChecks(checks: ReturnType<typeof listChecks>, stop: AbortSignal): Promise<boolean> {
  const results = Object.entries(checks).map(async ([name, check]) => {
    const startMs = performance.now()
    const failure = await check().then(() => undefined, String)
    const time = `${((performance.now() - startMs) / 1000).toFixed(1)} s`
    if (failure === undefined) process.stdout.write(`ok    ${name} (${time})\n`)
    else if (!stop.aborted) process.stdout.write(`FAIL  ${name} (${time})\n${failure}\n`)
    return failure === undefined
  })
  return (await Promise.all(results)).every(Boolean)
}

function tool(name: string): string {
  return join(root, 'test/checkers/node_modules/.bin', name)
}

/** Lists the files of dist/site that have an address of their own. */
async function listFiles(): Promise<string[]> {
  const entries = await readdir(site, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return files.map((file) => relative(site, file)).filter((file) => !['_headers', '404.html'].includes(file))
}

function getUrl(origin: string, file: string): string {
  return `${origin}/${file === 'index.html' ? '' : file.replace(/\.html$/, '')}`
}

/** Follows the links from the start page, and requires that they reach every page. Requests the other files, too. */
async function checkLinks({ origin, files }: Service, start: Programs['start']): Promise<void> {
  const others = files.filter((file) => !file.endsWith('.html'))
  const { closed, stdout, output } = start(tool('linkinator'), [
    origin,
    ...others.map((file) => getUrl(origin, file)),
    '--recurse',
    '--check-fragments',
    '--check-css',
    '--redirects=error',
    // Skips other hosts: CI may have no internet, and a change must not fail because another site is down.
    `--skip=^(?!${origin}/)`,
    '--format=json',
  ])
  const code = await closed
  if (!stdout().startsWith('{')) throw new Error(`Exit code: ${code}.\n${output()}`)
  const { links }: { links: Link[] } = JSON.parse(stdout())
  const broken = links.filter(({ state }) => state !== 'OK')
  const found = new Set(links.map(({ url }) => url))
  const problems = [
    ...broken.map(({ url, status, parent }) => `${url}: ${status}, from ${parent ?? 'dist/site'}`),
    ...files
      .map((file) => getUrl(origin, file))
      .filter((url) => !found.has(url))
      .map((url) => `${url}: no link leads to it`),
  ]
  if (code !== '0' || problems.length > 0) throw new Error([`Exit code: ${code}.`, ...problems].join('\n'))
}

/** Sends the requests of the errors page that go to a mock server. */
async function checkMockedErrors({ start, run }: Programs, env: Record<string, string>): Promise<void> {
  const prism = start(tool('prism'), ['mock', document, '--port', '0'])
  try {
    const { origin } = new URL(await findAddress(prism))
    const mocked = Object.entries(advice).filter(([, { whyMocked }]) => whyMocked)
    if (mocked.length === 0) throw new Error('No error code has a mock.')
    for (const [code, { request }] of mocked) {
      const command = `curl -sS ${request.replace('http://127.0.0.1:4010', origin)}`
      const text = await run('sh', ['-c', command], { env })
      if (!text.includes(`"error":"${code}"`)) throw new Error(`${code}: ${text}`)
    }
  } finally {
    prism.end()
    await prism.closed
  }
}
