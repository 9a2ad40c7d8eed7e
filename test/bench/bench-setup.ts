// What the benchmark measures: the Worker as deployed and the bare Workers, with catalogs of 30 to 10,000 plans.
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { readOrdinaryPlans } from '../support/demo-plans.ts'
import {
  buildBundle,
  createPartner,
  fetchToken,
  importPlans,
  startService,
  type BenchPartner,
  type Bundle,
  type Service,
} from './service.ts'

/** Each catalog size has a country of its own. */
export const planCounts = { KE: 30, UG: 300, RW: 3000, TZ: 10_000 } as const
export type Country = keyof typeof planCounts

export interface Bench extends Service {
  bundle: Bundle
  partners: Record<Country, BenchPartner & { bearerHeaders: { Authorization: string } }>
  getListUrl: (country: Country, worker?: string) => Promise<URL>
  getTokenUrl: (worker?: string) => Promise<URL>
}

/** KV keys of the bodies that the bare Workers send. */
export const smallBodyKey = 'bare:small'
export const largeBodyKey = 'bare:large'
const signingKey = 'bench-key-of-32-bytes-or-more-123'

export async function startBench(): Promise<Bench> {
  const bundle = await buildBundle()
  const service = await startService(
    bundle,
    { counted: 'test/bench/slowed.ts', 'instant-limits': 'test/bench/instant-limits.ts' },
    {
      'bare-bytes': { WORK: 'bytes', BODY: smallBodyKey },
      'bare-stream': { WORK: 'stream', BODY: largeBodyKey },
      'bare-not-modified': { WORK: 'not-modified' },
      'bare-kv': { WORK: 'kv' },
      'bare-token': { WORK: 'token', KEY: signingKey },
      'bare-first-token': { WORK: 'first-token', KEY: signingKey },
    },
  )
  try {
    await importPlans(service.d1, await makeCatalog())
    const tokenUrl = (worker = 'app') => service.getUrl(worker).then((url) => new URL('/api/v3/partners/auth', url))
    const createBenchPartner = async (country: Country) => {
      const partner = await createPartner(service.d1, country.toLowerCase(), country)
      const token = await fetchToken(await service.getUrl('app'), partner)
      return { ...partner, bearerHeaders: { Authorization: `Bearer ${token}` } }
    }
    const partners = {
      KE: await createBenchPartner('KE'),
      UG: await createBenchPartner('UG'),
      RW: await createBenchPartner('RW'),
      TZ: await createBenchPartner('TZ'),
    }
    return {
      ...service,
      bundle,
      partners,
      getListUrl: async (country, worker = 'app') =>
        new URL(`/api/v3/partners/${partners[country].shortName}/plans`, await service.getUrl(worker)),
      getTokenUrl: tokenUrl,
    }
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** Repeats the demo catalog, and makes the first plans viewable in the countries with small catalogs, too. */
export async function makeCatalog(): Promise<CatalogPlan[]> {
  const demo = await readOrdinaryPlans()
  const copies = Array.from({ length: Math.ceil(planCounts.TZ / demo.length) }, () => demo).flat()
  return copies.slice(0, planCounts.TZ).map((plan, id) => ({
    ...plan,
    id,
    identifier: `plan-${id}`,
    viewableIn: Object.entries(planCounts).flatMap(([country, count]) => (id < count ? [country] : [])),
  }))
}
