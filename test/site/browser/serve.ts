// The Worker as deployed and the site, in workerd without a dev server in between. Tells the process that started it
// where it is, and who may sign in. Node only.
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { generateJwk } from '../../../src/auth/signing-keys.ts'
import { parseCatalog } from '../../../src/catalog/catalog-file.ts'
import { readWranglerConfig } from '../../../src/ops/wrangler.ts'
import { buildBundle, createPartner, importPlans, migrate } from '../../bench/service.ts'
import type { Served } from './served.ts'

const project = resolve(import.meta.dirname, '../../..')
const [tokenLifetimeSeconds = ''] = process.argv.slice(2)

/** Texts that are programs where a page does not escape them. */
const markup = `<img src=x onerror=alert(1)>"'&lt;`
const markupUrl = 'https://images.example.com/"onerror="alert(1)'

const { script } = await buildBundle()
const { assets, compatibility_date: compatibilityDate } = await readWranglerConfig(undefined)
if (assets?.directory === undefined || compatibilityDate === undefined)
  throw new Error('wrangler.toml lacks something.')
const text = (value: string) => ({ type: 'text' as const, value })
const rateLimit = (namespace: string) => ({
  type: 'rate-limit' as const,
  namespace,
  simple: { limit: 1000, period: 60 as const },
})
const miniflare = new Miniflare({
  handleStructuredLogs: () => {},
  workers: [
    {
      config: {
        name: 'app',
        compatibilityDate,
        manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents: script } } },
        env: {
          DB: { type: 'd1', id: 'db' },
          CATALOG_CACHE: { type: 'kv', id: 'kv' },
          JWT_KEYS: text(JSON.stringify({ keys: [generateJwk()] })),
          TOKEN_LIFETIME_SECONDS: text(tokenLifetimeSeconds),
          AUTH_ADDRESS_RATE_LIMIT: rateLimit('1'),
          AUTH_RATE_LIMIT: rateLimit('2'),
        },
        assets: {
          directory: join(project, assets.directory),
          hasUserWorker: true,
          ...(assets.run_worker_first !== undefined && { runWorkerFirst: assets.run_worker_first }),
        },
      },
    },
  ],
})
// Who started it has ended, in whichever way.
process.once('disconnect', () => void miniflare.dispose().then(() => process.exit()))

const { origin } = await miniflare.ready
const d1 = (await miniflare.getD1Database('DB', 'app')) as unknown as D1Database
await migrate(d1)
const parsed = parseCatalog(await readFile(join(project, 'src/catalog/demo.json'), 'utf8'))
if (parsed.kind !== 'catalog') throw new Error('The demo catalog is broken.')
const [plan] = parsed.plans
if (plan === undefined) throw new Error('The demo catalog is empty.')
await importPlans(d1, [
  ...parsed.plans,
  {
    ...plan,
    id: 900_001,
    identifier: 'markup',
    name: markup,
    coolName: markup,
    about: markup,
    hint: markup,
    sector: markup,
    fundType: markup,
    profitTypeDescription: markup,
    tenor: markup,
    imageUrl: markupUrl,
    factSheet: markupUrl,
    category: null,
    planType: null,
    performance1: -12.5,
    performance3: null,
    minTopUpAmounts: {},
    viewableIn: ['ZM'],
  },
])
const served: Served = {
  origin,
  partners: {
    demo: await createPartner(d1, 'demo', 'KE'),
    lonely: await createPartner(d1, 'lonely', 'ZA'),
    hostile: await createPartner(d1, 'hostile', 'ZM'),
  },
  markup,
  markupUrl,
}
process.send?.(served)
