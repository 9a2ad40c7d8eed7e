// Starts the Worker as deployed and other Workers in one workerd. Each has its own socket, without a dev proxy.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { Miniflare, type WorkerOptions } from 'miniflare'
import { unstable_readConfig as readConfig, unstable_splitSqlQuery as splitSqlQuery } from 'wrangler'
import { generateClientId, generateClientSecret, hashSecret } from '../../src/crypto/client-secret.ts'
import { formatKeyName, generateKey } from '../../src/crypto/signing-keys.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { insertPartner } from '../support/insert-partner.ts'
import { publishPlans } from '../support/publish-plans.ts'

const project = resolve(import.meta.dirname, '../..')
const compatibilityDate = '2026-10-23'

export interface Bundle {
  script: string
  gzipBytes: number
}

/** Builds the script that `wrangler deploy` would upload. */
export async function buildBundle(): Promise<Bundle> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  try {
    const args = ['deploy', '--dry-run', '--env', '', '--outdir', folder]
    await promisify(execFile)(join(project, 'node_modules/.bin/wrangler'), args, { cwd: project })
    const script = await readFile(join(folder, 'index.js'), 'utf8')
    return { script, gzipBytes: gzipSync(script).length }
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface Settings {
  /** The names of further Workers as deployed, each inside slowed.ts. */
  measured?: readonly string[]
  /** The variables of each bare Worker, by its name. */
  bare?: Record<string, Record<string, string>>
  /** Whether the runtime opens its inspector, and lets a Worker collect its garbage. */
  isInspected?: boolean
  /** Whether the Worker `app` serves the files of the site, too. */
  hasSite?: boolean
}

/** Starts the Worker `app`, as deployed, with empty stores, and the Workers of the settings. */
export async function startService(
  { script }: Bundle,
  { measured = [], bare = {}, isInspected = false, hasSite = false }: Settings,
) {
  const bareScript = await readWorker('test/bench/bare.ts')
  const wrapper = await readWorker('test/bench/slowed.ts')
  type Bindings = WorkerOptions['config']['env']
  const worker = (name: string, contents: string, env: Bindings, beside = {}, assets = {}): WorkerOptions => ({
    config: {
      name,
      compatibilityDate,
      manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents }, ...beside } },
      env: { DB: { type: 'd1', id: 'db' }, CATALOG_CACHE: { type: 'kv', id: 'kv' }, ...env },
      ...assets,
    },
    dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
  })
  const text = (value: string) => ({ type: 'text' as const, value })
  const rateLimit = (namespace: string) => ({
    type: 'rate-limit' as const,
    namespace,
    simple: { limit: 1_000_000, period: 60 as const },
  })
  const limits = { AUTH_ADDRESS_RATE_LIMIT: rateLimit('1'), AUTH_RATE_LIMIT: rateLimit('2') }
  const bindings = { [formatKeyName('1700000000')]: text(generateKey()), ...limits }
  process.env['QUIET_WORKERD'] = findWorkerd()
  process.env['MINIFLARE_WORKERD_PATH'] = join(import.meta.dirname, 'quiet-workerd.sh')
  if (isInspected) process.env['MINIFLARE_WORKERD_V8_FLAGS'] = '--expose-gc'
  const miniflare = new Miniflare({
    handleStructuredLogs: () => {},
    cf: false,
    ...(isInspected && { inspectorPort: 0 }),
    workers: [
      hasSite
        ? worker('app', script, { ...bindings, ASSETS: { type: 'assets' } }, {}, readAssets())
        : worker('app', script, bindings),
      ...measured.map((name) => worker(name, wrapper, bindings, { 'app.js': { type: 'esm', contents: script } })),
      ...Object.entries(bare).map(([name, texts]) =>
        worker(name, bareScript, {
          ...Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, text(value)])),
          ...limits,
        }),
      ),
    ],
  })
  const d1 = await miniflare.getD1Database('DB', 'app')
  const kv = (await miniflare.getKVNamespace('CATALOG_CACHE', 'app')) as unknown as KVNamespace
  await migrate(d1)
  return {
    d1,
    kv,
    /** The address of the Worker `app` with the files of the site. */
    origin: (await miniflare.ready).origin,
    getUrl: (name: string) => miniflare.unsafeGetDirectURL(name),
    getInspectorUrl: () => miniflare.getInspectorURL(),
    stop: () => miniflare.dispose(),
  }
}

export type Service = Awaited<ReturnType<typeof startService>>

/** Reads which files of the site are served before the Worker is asked, as wrangler.toml says. */
function readAssets() {
  const { assets } = readConfig({})
  if (assets?.directory === undefined) throw new Error('wrangler.toml has no assets.directory.')
  const { directory, not_found_handling: notFoundHandling, run_worker_first: runWorkerFirst } = assets
  return { assets: { directory: join(project, directory), hasUserWorker: true, notFoundHandling, runWorkerFirst } }
}

/** Returns the binary that Miniflare would start. */
function findWorkerd(): string {
  const miniflare = createRequire(import.meta.url).resolve('miniflare')
  const { default: path } = createRequire(miniflare)('workerd') as { default: string }
  return path
}

/** Bundles a Worker with what it imports, except `./app.js`. */
async function readWorker(file: string): Promise<string> {
  const entryPoints = [join(project, file)]
  const { outputFiles } = await build({
    entryPoints,
    bundle: true,
    format: 'esm',
    external: ['./app.js'],
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

async function migrate(d1: D1Database): Promise<void> {
  const folder = join(project, 'migrations')
  for (const file of (await readdir(folder)).toSorted()) {
    const statements = splitSqlQuery(await readFile(join(folder, file), 'utf8'))
    await d1.batch(statements.map((sql) => d1.prepare(sql)))
  }
}

export function importPlans(d1: D1Database, plans: readonly CatalogPlan[]): Promise<void> {
  return publishPlans(openOperatorDatabase(d1), plans)
}

export interface BenchPartner {
  shortName: string
  clientId: string
  clientSecret: string
  /** The value of the header Authorization for a token. */
  authorization: string
}

export async function createPartner(d1: D1Database, shortName: string, country: string): Promise<BenchPartner> {
  const [clientId, clientSecret] = [generateClientId(), generateClientSecret()]
  const secretHash = await hashSecret(clientSecret, 100_000)
  await insertPartner(d1, { shortName, country, clientId, secretHash })
  return {
    shortName,
    clientId,
    clientSecret,
    authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
  }
}

/** @param url of any Worker of the service. */
export async function fetchToken(url: URL, { authorization }: BenchPartner): Promise<string> {
  const headers = { Authorization: authorization }
  const response = await fetch(new URL('/api/v3/partners/auth', url), { method: 'POST', headers })
  const { access_token: token }: { access_token: string } = await response.json()
  return token
}
