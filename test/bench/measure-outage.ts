// What callers and D1 notice while D1 fails and old copies are at hand.
import { makeCatalog } from './bench-setup.ts'
import type { Conditions } from './faulty.ts'
import { runLoad } from './load.ts'
import { createPartner, importPlans, startService, type Bundle, type Service } from './service.ts'

const wrapper = 'test/bench/faulty.ts'
const seconds = 20
/** Each connection sends the requests of all partners in turn. */
const connections = 8
const minuteMs = 60_000

export interface OutageRow {
  situation: string
  requests: number
  d1Queries: number
  p50Ms: number
  p99Ms: number
}

export async function measureOutage(bundle: Bundle, note: (text: string) => void): Promise<OutageRow[]> {
  const outages = ['error', 'hang'] as const
  const isolates = ['idle', 'new'] as const
  const names = outages.flatMap((d1) => isolates.map((isolate) => `${d1}-${isolate}`))
  const service = await startService(bundle, Object.fromEntries(['fine', ...names].map((name) => [name, wrapper])), {})
  try {
    await importPlans(service.d1, await makeCatalog())
    const setConditions = async (worker: string, d1: Conditions['d1'], clockMs = 0) => {
      const conditions: Conditions = { d1, kv: 'fine', versions: [{}], clockMs }
      const response = await fetch(await service.getUrl(worker), { method: 'PUT', body: JSON.stringify(conditions) })
      return (await response.json()) as { d1Queries: number }
    }
    await setConditions('fine', 'fine')
    const requests: { path: string; headers: Record<string, string> }[] = []
    for (let index = 0; index < connections; index++) requests.push(await prepareRequest(service, `partner-${index}`))
    const sendEach = async (worker: string) => {
      for (const { path, headers } of requests) await fetch(new URL(path, await service.getUrl(worker)), { headers })
    }
    // Stores the copies in KV.
    await sendEach('fine')

    const rows: OutageRow[] = []
    for (const d1 of outages) {
      for (const isolate of isolates) {
        const worker = `${d1}-${isolate}`
        const outage = d1 === 'error' ? 'D1 refuses at once' : 'D1 hangs'
        const situation = `${outage}, ${isolate === 'idle' ? 'isolate idle for three minutes' : 'new isolate'}`
        note(`Measuring for ${seconds} s: ${situation} …`)
        if (isolate === 'idle') {
          await setConditions(worker, 'fine')
          await sendEach(worker)
        }
        await setConditions(worker, d1, 3 * minuteMs)
        const target = { url: await service.getUrl(worker), requests, status: 200, connections }
        const { requestsPerSecond, p50Ms, p99Ms } = await runLoad(target, seconds)
        const { d1Queries } = await setConditions(worker, 'fine')
        rows.push({ situation, requests: Math.round(requestsPerSecond * seconds), d1Queries, p50Ms, p99Ms })
      }
    }
    return rows
  } finally {
    await service.stop()
  }
}

async function prepareRequest(service: Service, shortName: string) {
  const { authorization } = await createPartner(service.d1, shortName, 'KE')
  const url = new URL('/api/v3/partners/auth', await service.getUrl('fine'))
  const response = await fetch(url, { method: 'POST', headers: { Authorization: authorization } })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return { path: `/api/v3/partners/${shortName}/plans`, headers: { Authorization: `Bearer ${token}` } }
}
