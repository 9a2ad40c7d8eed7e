// During a gradual deployment two versions of the Worker answer requests, on the same D1 and KV. The new versions here list
// one field more.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { Miniflare, type WorkerOptions } from 'miniflare'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateJwk } from '../src/crypto/signing-keys.ts'
import { createPartner, importPlans, migrate, type BenchPartner } from './bench/service.ts'
import { makePlan } from './support/make-plan.ts'

const project = resolve(import.meta.dirname, '..')

/** What new versions add to the SELECT: a field of a plan, or one of its category. */
const additions = {
  plan: { after: '\n  sector: plans.sector,\n', line: "  benchmark: sql`'None'`,\n" },
  category: { after: '\n    tagLine: planCategories.tagLine,\n', line: "    icon: sql`'leaf'`,\n" },
} as const
type Version = 'old' | keyof typeof additions

const edit = ({ after, line }: (typeof additions)[keyof typeof additions]): Plugin => ({
  name: 'edit',
  setup: (compiler) =>
    compiler.onLoad({ filter: /plan-queries\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      expect(text).toContain(after)
      return { contents: text.replace(after, `${after}${line}`), loader: 'ts' }
    }),
})

async function bundle(plugins: Plugin[]): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(project, 'src/worker/index.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    plugins,
  })
  return outputFiles[0]?.text ?? ''
}

let miniflare: Miniflare
let partner: BenchPartner

/** Two isolates of each version. */
const versions: Version[] = ['old', 'plan', 'category']
const isolates = versions.flatMap((version) => [`${version}-1`, `${version}-2`] as const)
type Isolate = (typeof isolates)[number]

beforeAll(async () => {
  const scripts: Record<string, string> = {
    old: await bundle([]),
    plan: await bundle([edit(additions.plan)]),
    category: await bundle([edit(additions.category)]),
  }
  const keys = JSON.stringify({ keys: [generateJwk()] })
  const describeWorker = (name: Isolate): WorkerOptions => ({
    config: {
      name,
      compatibilityDate: '2026-10-23',
      manifest: {
        mainModule: 'index.js',
        modules: { 'index.js': { type: 'esm', contents: scripts[name.slice(0, -2)] ?? '' } },
      },
      env: {
        DB: { type: 'd1', id: 'db' },
        CATALOG_CACHE: { type: 'kv', id: 'kv' },
        JWT_KEYS: { type: 'text', value: keys },
      },
    },
    dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
  })
  miniflare = new Miniflare({ handleStructuredLogs: () => {}, workers: isolates.map(describeWorker) })
  await miniflare.ready
  const d1 = (await miniflare.getD1Database('DB', 'old-1')) as unknown as D1Database
  await migrate(d1)
  await importPlans(d1, [makePlan({ id: 1, viewableIn: ['KE'] })])
  partner = await createPartner(d1, 'acme', 'KE')
})
afterAll(() => miniflare?.dispose())

async function call(isolate: Isolate, path: string, init: RequestInit): Promise<Response> {
  return fetch(new URL(`/api/v3/partners/${path}`, await miniflare.unsafeGetDirectURL(isolate)), init)
}

async function fetchToken(isolate: Isolate): Promise<string> {
  const response = await call(isolate, 'auth', { method: 'POST', headers: { Authorization: partner.authorization } })
  return ((await response.json()) as { access_token: string }).access_token
}

async function list(isolate: Isolate, token: string, headers = {}) {
  const response = await call(isolate, 'acme/plans', { headers: { Authorization: `Bearer ${token}`, ...headers } })
  const body = await response.text()
  const plan = body === '' ? {} : (JSON.parse(body) as { data: { plans: Record<string, unknown>[] } }).data.plans[0]
  return {
    status: response.status,
    tier: response.headers.get('Cache-Status')?.split(';')[0],
    isHit: response.headers.get('Cache-Status')?.includes('hit'),
    etag: response.headers.get('ETag') ?? '',
    fields: [plan?.['benchmark'], (plan?.['category'] as Record<string, unknown> | undefined)?.['icon']],
  }
}

const fieldsOf: Record<Version, unknown[]> = {
  old: [undefined, undefined],
  plan: ['None', undefined],
  category: [undefined, 'leaf'],
}

test.each(['plan', 'category'] as const)(
  'a version with another field of a %s takes the tokens of the old one, and neither serves the lists of the other',
  async (version) => {
    const tokens = { old: await fetchToken('old-1'), new: await fetchToken(`${version}-1`) }
    // The first isolate of each version loads the list, and the second one finds it in KV.
    const [old, changed] = [await list('old-1', tokens.new), await list(`${version}-1`, tokens.old)]
    expect([old.fields, changed.fields]).toEqual([fieldsOf.old, fieldsOf[version]])
    await expect.poll(() => list('old-2', tokens.new)).toMatchObject({ isHit: true, fields: fieldsOf.old })
    await expect.poll(() => list(`${version}-2`, tokens.old)).toMatchObject({ isHit: true, fields: fieldsOf[version] })
    // Turn by turn, from memory.
    for (const isolate of ['old-1', `${version}-1`, 'old-2', `${version}-2`] as const) {
      const fields = isolate.startsWith('old') ? fieldsOf.old : fieldsOf[version]
      expect(await list(isolate, tokens.old)).toMatchObject({ status: 200, tier: 'memory', fields })
    }
    // A partner whose next request reaches the other version gets that version's list, not a 304.
    const known = { 'If-None-Match': old.etag }
    expect(await list(`${version}-1`, tokens.old, known)).toMatchObject({ status: 200, fields: fieldsOf[version] })
    expect((await list('old-1', tokens.old, known)).status).toBe(304)
  },
)
