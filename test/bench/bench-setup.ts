// What the benchmark measures: the Worker as deployed and the bare Workers, with catalogs of 30 and of 10,000 plans.
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { readOrdinaryPlans } from '../support/demo-plans.ts'
import {
  createPartner,
  fetchToken,
  importPlans,
  startService,
  type BenchPartner,
  type Bundle,
  type Service,
} from './service.ts'

/** Each catalog size has a country of its own. */
const planCounts = { KE: 30, TZ: 10_000 } as const
type Country = keyof typeof planCounts

export interface Bench extends Service {
  partners: Record<Country, BenchPartner & { bearerHeaders: { Authorization: string } }>
  getListUrl: (country: Country) => Promise<URL>
  getTokenUrl: () => Promise<URL>
}

/** KV keys of the bodies that the bare Workers send. */
export const smallBodyKey = 'bare:small'
export const largeBodyKey = 'bare:large'
const signingKey = 'bench-key-of-32-bytes-or-more-123'

export async function startBench(bundle: Bundle): Promise<Bench> {
  const bare = {
    'bare-bytes': { WORK: 'bytes', BODY: smallBodyKey },
    'bare-stream': { WORK: 'stream', BODY: largeBodyKey },
    'bare-not-modified': { WORK: 'not-modified' },
    'bare-kv': { WORK: 'kv' },
    'bare-token': { WORK: 'token', KEY: signingKey },
    'bare-first-token': { WORK: 'first-token', KEY: signingKey },
  }
  const service = await startService(bundle, { bare })
  try {
    await importPlans(service.d1, await makeCatalog())
    const createBenchPartner = async (country: Country) => {
      const partner = await createPartner(service.d1, country.toLowerCase(), country)
      const token = await fetchToken(await service.getUrl('app'), partner)
      return { ...partner, bearerHeaders: { Authorization: `Bearer ${token}` } }
    }
    const partners = { KE: await createBenchPartner('KE'), TZ: await createBenchPartner('TZ') }
    return {
      ...service,
      partners,
      getListUrl: async (country) =>
        new URL(`/api/v3/partners/${partners[country].shortName}/plans`, await service.getUrl('app')),
      getTokenUrl: async () => new URL('/api/v3/partners/auth', await service.getUrl('app')),
    }
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** Repeats the demo catalog, and makes the first plans viewable in the country with the small catalog, too. */
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
