// How long a partner waits when the bindings are as slow as real ones, and for how many sequential round trips.
import type { Cost, Settings } from './slowed.ts'
import { createPartner, importPlans, startService, type BenchPartner, type Bundle, type Service } from './service.ts'
import { makeCatalog } from './bench-setup.ts'

/** Latencies of D1 and KV in milliseconds. */
const latencies = [
  { d1Ms: 100, kvMs: 40 },
  { d1Ms: 30, kvMs: 5 },
  { d1Ms: 200, kvMs: 100 },
] as const

/** Medians are over this many isolates, each of which is cold once. */
const samples = 8
const burst = 30
const minuteMs = 60_000
const hourMs = 60 * minuteMs

export interface LatencyRow {
  latency: string
  situation: string
  medianMs: number
  /** The most that any sample needed. */
  trips: number
  maxTrips: number
  kvReads: number
  kvWrites: number
  d1Queries: number
  rowsRead: number
}

export async function measureLatency(bundle: Bundle, note: (text: string) => void): Promise<LatencyRow[]> {
  const isolates = latencies.flatMap((_, index) =>
    Array.from({ length: 4 * samples }, (_isolate, sample) => `slowed-${index}-${sample}`),
  )
  const wrappers = Object.fromEntries(isolates.map((name) => [name, 'test/bench/slowed.ts']))
  const service = await startService(bundle, wrappers, {})
  try {
    await importPlans(service.d1, await makeCatalog())
    const partner = await createPartner(service.d1, 'acme', 'UG')
    const rows: LatencyRow[] = []
    for (const [index, latency] of latencies.entries()) {
      note(`Latency with D1 at ${latency.d1Ms} ms and KV at ${latency.kvMs} ms …`)
      const names = isolates.filter((name) => name.startsWith(`slowed-${index}-`))
      rows.push(...(await measureSituations(service, partner, names, latency)))
    }
    return rows
  } finally {
    await service.stop()
  }
}

/** @param isolates each has not served a request yet */
async function measureSituations(
  service: Service,
  partner: BenchPartner,
  isolates: string[],
  latency: (typeof latencies)[number],
): Promise<LatencyRow[]> {
  const first = isolates.splice(0, samples)
  const cold = isolates.splice(0, samples)
  const coldLater = isolates.splice(0, samples)
  const bursts = isolates.splice(0, samples)
  const name = `D1 ${latency.d1Ms} ms, KV ${latency.kvMs} ms`
  const ask = async (isolate: string, clockMs: number): Promise<Cost> => {
    const settings: Settings = { ...latency, clockMs }
    const url = new URL(`/api/v3/partners/${partner.shortName}/plans`, await service.urlOf(isolate))
    const headers = { Authorization: `Bearer ${await getToken(clockMs)}`, 'X-Settings': JSON.stringify(settings) }
    const response = await fetch(url, { headers })
    const cost = (await response.json()) as Cost
    if (cost.status !== 200) throw new Error(`The list returned status ${cost.status}.`)
    return cost
  }
  /** From another isolate, so that it warms up none of those that are measured. */
  const getToken = async (clockMs: number): Promise<string> => {
    const settings: Settings = { d1Ms: 0, kvMs: 0, clockMs }
    const url = new URL('/api/v3/partners/auth', await service.urlOf('app-token'))
    const headers = { Authorization: partner.authorization, 'X-Settings': JSON.stringify(settings) }
    const { accessToken } = (await (await fetch(url, { method: 'POST', headers })).json()) as Cost
    return accessToken ?? ''
  }
  const emptyKv = async () => {
    for (const { name: key } of (await service.kv.list()).keys) await service.kv.delete(key)
  }
  const toRow = (situation: string, maxTrips: number, costs: Cost[]): LatencyRow => {
    const max = (read: (cost: Cost) => number) => Math.max(...costs.map(read))
    return {
      latency: name,
      situation,
      medianMs: getMedian(costs.map(({ durationMs }) => durationMs)),
      trips: max(({ trips }) => trips),
      maxTrips,
      kvReads: max(({ kvReads }) => kvReads),
      kvWrites: max(({ kvWrites }) => kvWrites),
      d1Queries: max(({ d1Queries }) => d1Queries),
      rowsRead: max(({ rowsRead }) => rowsRead),
    }
  }

  const firstCosts: Cost[] = []
  for (const isolate of first) {
    await emptyKv()
    firstCosts.push(await ask(isolate, 0))
  }
  const idleCosts: Cost[] = []
  for (const isolate of first) idleCosts.push(await ask(isolate, 3 * minuteMs))
  const minuteCosts: Cost[] = []
  for (const isolate of first) minuteCosts.push(await ask(isolate, 4 * minuteMs + 5000))
  const coldCosts: Cost[] = []
  for (const isolate of cold) coldCosts.push(await ask(isolate, 0))
  const coldLaterCosts: Cost[] = []
  for (const isolate of coldLater) coldLaterCosts.push(await ask(isolate, hourMs))
  const burstMs: number[] = []
  for (const isolate of bursts) {
    const costs = await Promise.all(Array.from({ length: burst }, () => ask(isolate, 0)))
    burstMs.push(getMedian(costs.map(({ durationMs }) => durationMs)))
  }
  const burstRow = toRow('30 requests at once into a new isolate, their median', 1, coldCosts)
  return [
    toRow('isolate idle for three minutes', 1, idleCosts),
    toRow('new isolate, KV has the list', 1, coldCosts),
    toRow('new isolate, KV’s copy is an hour old', 1, coldLaterCosts),
    toRow('the first list of a country', 2, firstCosts),
    { ...burstRow, medianMs: getMedian(burstMs) },
    toRow('a minute later, nothing changed', 0, minuteCosts),
  ]
}

function getMedian(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
