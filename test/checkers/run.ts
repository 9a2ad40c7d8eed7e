// npm run checkers -- --url http://localhost:8787 : checks the site, openapi.json and the API of a running service with other
// people's programs, and prints one line per check. The credentials of a partner are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { unzipSync } from 'fflate'
import { originRule, readOrigin } from '../../src/ops/core/smoke-input.ts'

const root = join(import.meta.dirname, '../..')
const document = 'src/openapi/openapi.json'
const collections = join(root, 'dist/site/collections')
const deadlineMs = 60_000
/** Lighthouse's, of 1. */
const minScore = 0.95
/** The speed is measured, and now and then Chromium loses the measurements of a page. */
const maxAttempts = 3

/** Each check rejects with an error that has the output of its program. They run side by side. */
function listChecks(origin: string, shortName: string): Record<string, () => Promise<void>> {
  return {
    'html-validate: every page of dist/site': () =>
      run(tool('html-validate'), ['--preset', 'standard,a11y', 'dist/site/**/*.html']),

    // Skips other hosts: CI may have no internet, and a change must not fail because another site is down.
    'linkinator: every link and fragment on this host': () =>
      run(tool('linkinator'), [
        origin,
        '--recurse',
        '--check-fragments',
        '--check-css',
        '--redirects=error',
        `--skip=^(?!${origin}/)`,
        '--verbosity=error',
      ]),

    'lighthouse: every page, on a phone': async () => {
      const pages = (await readdir(join(root, 'dist/site'))).filter((file) => file.endsWith('.html')).values()
      const problems: string[] = []
      const checkRest = async () => {
        for (const page of pages) problems.push(...(await checkWithLighthouse(origin, page)))
      }
      await Promise.all(Array.from({ length: 3 }, checkRest))
      if (problems.length > 0) throw new Error(problems.join('\n'))
    },

    'spectral: openapi.json, with the OWASP rules': () =>
      run(tool('spectral'), ['lint', '--ruleset', 'test/checkers/spectral.yaml', '--fail-severity', 'warn', document]),

    // The smoke test sends wrong requests on purpose, and asks for two paths that the document doesn't have.
    'prism: the smoke test, through a proxy that knows openapi.json': () =>
      runThroughPrism(origin, (proxy) => run(process.execPath, ['src/ops/smoke.ts', '--url', proxy]), [
        'post /api/v3/partners/auth: request Invalid security scheme used',
        'get /api/v3/partners/any/plans: request Invalid security scheme used',
        'get /api/v3/partners/nothing/here: request Selected route not found',
        'get /: request Selected route not found',
        `get /api/v3/partners/${shortName}/plans: request.query.categoryid Request query parameter categoryid must be integer`,
      ]),

    // These two don't go through Prism, which answers 500 to HEAD: it reads the empty body as JSON.
    'newman: the collection for Postman': () =>
      inFolder(async (folder) => {
        const environment = join(folder, 'environment.json')
        await writeFile(environment, await fillEnvironment(origin, process.env), { mode: 0o600 })
        await run(tool('newman'), [
          'run',
          join(collections, 'investment-plans.postman_collection.json'),
          '-e',
          environment,
        ])
      }),

    'bru: the collection for Bruno': () =>
      inFolder(async (folder) => {
        await unzip(join(collections, 'investment-plans-bruno.zip'), folder)
        await writeFile(join(folder, 'investment-plans/.env'), `API=${origin}\n`)
        await run(tool('bru'), ['run'], join(folder, 'investment-plans'))
      }),
  }
}

// Lighthouse looks there.
process.env['CHROME_PATH'] ??= process.env['CHROMIUM'] ?? '/usr/bin/chromium'
process.exitCode = await checkAll(process.argv.slice(2))

async function checkAll(args: string[]): Promise<0 | 1 | 2> {
  const { url = '' } = parseArgs({ args, options: { url: { type: 'string' } } }).values
  const origin = readOrigin(url)
  const { CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env
  if (origin === undefined || !CLIENT_ID || !CLIENT_SECRET || !SHORT_NAME) {
    process.stderr.write(`${originRule} CLIENT_ID, CLIENT_SECRET and SHORT_NAME must be set.\n`)
    return 2
  }
  if (!existsSync(tool('prism'))) {
    process.stderr.write('Install the programs first: npm ci --prefix test/checkers\n')
    return 2
  }
  const results = Object.entries(listChecks(origin, SHORT_NAME)).map(async ([name, check]) => {
    const startMs = performance.now()
    const output = await check().then(() => undefined, String)
    const time = `${((performance.now() - startMs) / 1000).toFixed(1)} s`
    process.stdout.write(output === undefined ? `ok    ${name} (${time})\n` : `FAIL  ${name} (${time})\n${output}\n`)
    return output === undefined
  })
  return (await Promise.all(results)).every(Boolean) ? 0 : 1
}

function tool(name: string): string {
  return join(root, 'test/checkers/node_modules/.bin', name)
}

async function run(command: string, args: readonly string[], folder = root): Promise<void> {
  const { child, output } = start(command, args, folder)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`Exit code ${code}.\n${output()}`)
}

/** Returns a line with the outcome of each attempt, or nothing when an attempt reached the scores. */
async function checkWithLighthouse(origin: string, page: string): Promise<string[]> {
  const url = `${origin}/${page === 'index.html' ? '' : page.replace('.html', '')}`
  const attempts: string[] = []
  while (attempts.length < maxAttempts) {
    const outcome = await readScores(url).catch(String)
    if (typeof outcome !== 'string' && outcome.every(([, score]) => score !== null && score >= minScore)) return []
    attempts.push(typeof outcome === 'string' ? outcome : outcome.map(([name, score]) => `${name} ${score}`).join(', '))
  }
  return [`${page}: ${attempts.join('; ')}`]
}

async function readScores(url: string): Promise<[string, number | null][]> {
  return inFolder(async (folder) => {
    const file = join(folder, 'report.json')
    const categories = '--only-categories=performance,accessibility,best-practices,seo'
    const chromium = '--chrome-flags=--headless=new --no-sandbox'
    await run(tool('lighthouse'), [url, '--quiet', '--output=json', `--output-path=${file}`, categories, chromium])
    const report: { categories: Record<string, { score: number | null }> } = JSON.parse(await readFile(file, 'utf8'))
    return Object.entries(report.categories).map(([name, { score }]) => [name, score])
  })
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'checkers-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Puts the address and the credentials into Postman's environment: a command line would show the secret to other users. */
async function fillEnvironment(
  origin: string,
  { CLIENT_ID, CLIENT_SECRET, SHORT_NAME }: NodeJS.ProcessEnv,
): Promise<string> {
  const text = await readFile(join(collections, 'investment-plans.postman_environment.json'), 'utf8')
  const environment: { values: { key: string; value: string }[] } = JSON.parse(text)
  const filled = new Map([
    ['baseUrl', origin],
    ['clientId', CLIENT_ID],
    ['clientSecret', CLIENT_SECRET],
    ['shortName', SHORT_NAME],
  ])
  const values = environment.values.map((each) => ({ ...each, value: filled.get(each.key) }))
  return JSON.stringify({ ...environment, values })
}

async function unzip(file: string, folder: string): Promise<void> {
  for (const [name, bytes] of Object.entries(unzipSync(await readFile(file)))) {
    if (name.endsWith('/')) continue
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), bytes)
  }
}

/**
 * Runs `work` with the address of a proxy that compares each request and each response with the document. The proxy forwards
 * wrong ones, too, and reports them. Requires that it reports exactly `expected`; without an expected violation an unused
 * proxy would pass.
 */
async function runThroughPrism(
  origin: string,
  work: (proxy: string) => Promise<void>,
  expected: string[],
): Promise<void> {
  const prism = start(tool('prism'), ['proxy', document, origin, '--port', '0'])
  const closed = once(prism.child, 'close')
  try {
    await work(await findAddress(prism))
  } finally {
    prism.child.kill()
    await closed
  }
  const found = listViolations(prism.output())
  const unexpected = found.filter((violation) => !expected.includes(violation))
  const missing = expected.filter((violation) => !found.includes(violation))
  if (unexpected.length + missing.length === 0) return
  throw new Error([...unexpected, ...missing.map((violation) => `Not reported: ${violation}`)].join('\n'))
}

/** Resolves to the address that Prism prints when it listens. */
function findAddress({ child, output }: Program): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, address] = /is listening on (http:\S+)/.exec(output()) ?? []
      if (address !== undefined) resolve(address)
    })
    child.once('close', () => reject(new Error(`Prism does not listen.\n${output()}`)))
  })
}

/** Reads Prism's log. Works for requests that are sent one after another. */
function listViolations(log: string): string[] {
  let request = ''
  return log.split('\n').flatMap((line) => {
    request = /\[HTTP SERVER\] (\w+ \S+)/.exec(line)?.[1] ?? request
    const [, violation] = / Violation: (.*)/.exec(line) ?? []
    return violation === undefined ? [] : `${request}: ${violation.trim()}`
  })
}

interface Program {
  child: ChildProcessByStdio<null, Readable, Readable>
  /** What it has printed so far, without colors. */
  output: () => string
}

function start(command: string, args: readonly string[], folder = root): Program {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: deadlineMs })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return { child, output: () => stripVTControlCharacters(text) }
}
