// Measures what callers notice, and how often D1 is asked, while D1 fails and partners have copies in KV.
import { makeCatalog } from './bench-catalog.ts'
import { runLoad } from './load.ts'
import { createPartner, fetchToken, importPlans, startService, type Bundle, type Service } from './service.ts'
import type { Calls, Settings } from './slowed.ts'

const seconds = 20
/** The number of connections, and of partners: each connection sends the requests of all partners in turn. */
const connections = 8
const minuteMs = 60_000

const kinds = ['lists', 'sign-ins'] as const
const situations = (['error', 'hang'] as const).flatMap((d1) =>
  (['idle', 'new'] as const).map((isolate) => ({ d1, isolate })),
)
const nameWorker = (what: string, d1: string, isolate: string) => `${what}-${d1}-${isolate}`

interface OutageLoad {
  what: (typeof kinds)[number]
  method: 'GET' | 'POST'
  requests: { path: string; headers: Record<string, string> }[]
}

export async function measureOutage(bundle: Bundle, note: (text: string) => void) {
  const names = kinds.flatMap((what) => situations.map(({ d1, isolate }) => nameWorker(what, d1, isolate)))
  const service = await startService(bundle, { measured: ['fine', ...names] })
  try {
    await importPlans(service.d1, await makeCatalog())
    const setD1 = async (worker: string, d1: Settings['d1'], clockMs = 0) => {
      const settings: Settings = { d1Ms: 0, kvMs: 0, d1, clockMs }
      const response = await fetch(await service.getUrl(worker), { method: 'PUT', body: JSON.stringify(settings) })
      return (await response.json()) as Calls
    }
    const loads = await prepareLoads(service)
    const sendEach = async (worker: string, { method, requests }: OutageLoad) => {
      for (const { path, headers } of requests) {
        await fetch(new URL(path, await service.getUrl(worker)), { method, headers })
      }
    }
    // Stores the copies in KV.
    for (const load of loads) await sendEach('fine', load)

    const rows: Record<string, string>[] = []
    for (const load of loads) {
      for (const { d1, isolate } of situations) {
        const worker = nameWorker(load.what, d1, isolate)
        const outage = d1 === 'error' ? 'D1 refuses at once' : 'D1 hangs'
        const state = isolate === 'idle' ? 'isolate idle for three minutes' : 'new isolate'
        const situation = `${load.what}: ${outage}, ${state}`
        note(`Measuring for ${seconds} s: ${situation} …`)
        if (isolate === 'idle') await sendEach(worker, load)
        await setD1(worker, d1, 3 * minuteMs)
        const { method, requests } = load
        const target = { url: await service.getUrl(worker), method, requests, status: 200, connections }
        const { requestsPerSecond, p50Ms, p99Ms } = await runLoad(target, seconds)
        const { d1Queries } = await setD1(worker, 'fine')
        rows.push({
          OUTAGE: situation,
          REQUESTS: String(Math.round(requestsPerSecond * seconds)),
          'D1 QUERIES': String(d1Queries),
          P50: `${p50Ms} ms`,
          P99: `${p99Ms} ms`,
        })
      }
    }
    return { rows, isMissed: false }
  } finally {
    await service.stop()
  }
}

/** Creates partners, and the requests of each for its list and for a token. */
async function prepareLoads(service: Service): Promise<OutageLoad[]> {
  const lists: OutageLoad = { what: 'lists', method: 'GET', requests: [] }
  const signIns: OutageLoad = { what: 'sign-ins', method: 'POST', requests: [] }
  for (let index = 0; index < connections; index++) {
    const shortName = `partner-${index}`
    const partner = await createPartner(service.d1, shortName, 'KE')
    const token = await fetchToken(await service.getUrl('fine'), partner)
    const api = '/api/v3/partners'
    signIns.requests.push({ path: `${api}/auth`, headers: { Authorization: partner.authorization } })
    lists.requests.push({ path: `${api}/${shortName}/plans`, headers: { Authorization: `Bearer ${token}` } })
  }
  return [lists, signIns]
}
