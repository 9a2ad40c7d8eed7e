// How long a partner waits when D1 and KV are as slow as real ones, and for how many sequential round trips.
import { makeCatalog } from './bench-catalog.ts'
import { createPartner, importPlans, startService, type BenchPartner, type Bundle, type Service } from './service.ts'
import type { Calls, Cost, Settings } from './slowed.ts'

/** How long each call takes, the local store's own time included. */
const latency = { d1Ms: 100, kvMs: 40 }

/** Isolates per situation. Each is new only once, so every sample of a new isolate needs its own. */
const samples = 8
/** Fewer samples, because each waits for D1's deadline of 5 s. */
const hangingSamples = 2
const isolateGroups = 6
const burst = 30
const minuteMs = 60_000

/** The country with 30 plans. */
const country = 'KE'

interface LatencyRow extends Calls {
  situation: string
  medianMs: number
  /** The most sequential round trips that any sample needed. */
  trips: number
  maxTrips: number
}

const isMissed = ({ trips, maxTrips }: LatencyRow) => trips > maxTrips

export async function measureLatency(bundle: Bundle, note: (text: string) => void) {
  note('Measuring with slow bindings …')
  const isolates = Array.from({ length: isolateGroups * samples }, (_, sample) => `slowed-${sample}`)
  const service = await startService(bundle, { measured: ['tokens', ...isolates] })
  try {
    await importPlans(service.d1, await makeCatalog())
    const partner = await createPartner(service.d1, 'acme', country)
    const other = await createPartner(service.d1, 'other', country)
    const measured = await measureSituations(service, partner, other, isolates)
    const rows = measured.map((row) => ({
      LATENCY: row.situation,
      MEDIAN: `${Math.round(row.medianMs)} ms`,
      TRIPS: isMissed(row) ? `${row.trips}, more than ${row.maxTrips}` : String(row.trips),
      'D1 QUERIES': String(row.d1Queries),
      'KV READS': String(row.kvReads),
      'KV WRITES': String(row.kvWrites),
    }))
    return { rows, isMissed: measured.some(isMissed) }
  } finally {
    await service.stop()
  }
}

/** @param isolates the names of new isolates: none of them has served a request yet. */
async function measureSituations(
  service: Service,
  partner: BenchPartner,
  other: BenchPartner,
  isolates: readonly string[],
): Promise<LatencyRow[]> {
  const [first, fresh, bursts, both, failing, hanging] = Array.from({ length: isolateGroups }, (_, group) =>
    isolates.slice(group * samples, (group + 1) * samples),
  ) as [string[], string[], string[], string[], string[], string[]]

  const send = async (isolate: string, settings: Settings, method: 'GET' | 'POST', path: string, header: string) => {
    const url = new URL(`/api/v3/partners/${path}`, await service.getUrl(isolate))
    const headers = { Authorization: header, 'X-Settings': JSON.stringify(settings) }
    const cost = (await (await fetch(url, { method, headers })).json()) as Cost
    if (cost.status !== 200) throw new Error(`${path} returned status ${cost.status}.`)
    return cost
  }
  const signIn = async (isolate: string, settings: Settings, client = partner) => {
    const cost = await send(isolate, settings, 'POST', 'auth', client.authorization)
    if (cost.accessToken === undefined) throw new Error('There is no token.')
    return { ...cost, accessToken: cost.accessToken }
  }
  /** Gets a token from an isolate that is not measured, so that no measured one is warm. */
  const getToken = async (clockMs: number, client = partner): Promise<string> =>
    (await signIn('tokens', { d1Ms: 0, kvMs: 0, d1: 'fine', clockMs }, client)).accessToken
  const request = (isolate: string, clockMs: number, token: string, { shortName } = partner): Promise<Cost> =>
    send(isolate, { ...latency, d1: 'fine', clockMs }, 'GET', `${shortName}/plans`, `Bearer ${token}`)
  const requestEach = async (
    names: readonly string[],
    clockMs: number,
    before?: (name: string) => Promise<unknown>,
  ) => {
    const token = await getToken(clockMs)
    const costs: Cost[] = []
    for (const name of names) {
      await before?.(name)
      costs.push(await request(name, clockMs, token))
    }
    return costs
  }
  /** Signs in, and requests the list when the work after the token's response has ended. */
  const signInAndRequest = async (isolate: string): Promise<Cost> => {
    const token = await signIn(isolate, { ...latency, d1: 'fine', clockMs: 0 })
    return addCosts(token, await request(isolate, 0, token.accessToken))
  }
  const emptyKv = async () => {
    for (const { name } of (await service.kv.list()).keys) await service.kv.delete(name)
  }
  const toRow = (situation: string, maxTrips: number, costs: readonly Cost[]): LatencyRow => {
    const getMax = (read: (cost: Cost) => number) => Math.max(...costs.map(read))
    return {
      situation,
      medianMs: getMedian(costs.map(({ durationMs }) => durationMs)),
      trips: getMax(({ trips }) => trips),
      maxTrips,
      d1Queries: getMax(({ d1Queries }) => d1Queries),
      kvReads: getMax(({ kvReads }) => kvReads),
      kvWrites: getMax(({ kvWrites }) => kvWrites),
    }
  }
  /** Measures two sign-ins of each isolate: the second sign-in hashes no secret and needs no answer of D1. */
  const signInTwice = async (names: readonly string[], d1: Settings['d1'], situation: string) => {
    const [costs, nextCosts]: [Cost[], Cost[]] = [[], []]
    for (const name of names) {
      costs.push(await signIn(name, { ...latency, d1, clockMs: 0 }))
      nextCosts.push(await signIn(name, { ...latency, d1, clockMs: 5000 }))
    }
    return [toRow(situation, 2, costs), toRow('the next token, 5 seconds later', 0, nextCosts)]
  }

  const firstRow = toRow('the first list of a country', 2, await requestEach(first, 0, emptyKv))
  const idleRow = toRow('isolate idle for three minutes', 1, await requestEach(first, 3 * minuteMs))
  const nextRow = toRow('65 seconds after the last check', 0, await requestEach(first, 3 * minuteMs + 65_000))
  const otherToken = await getToken(13 * minuteMs, other)
  const askOther = (name: string) => request(name, 13 * minuteMs, otherToken, other)
  const idlePartner = 'partner idle for ten minutes, another one active'
  const idlePartnerRow = toRow(idlePartner, 0, await requestEach(first, 13.5 * minuteMs, askOther))
  const freshRow = toRow('new isolate, KV has the list', 1, await requestEach(fresh, 0))
  const token = await getToken(0)
  const burstMs: number[] = []
  for (const name of bursts) {
    const costs = await Promise.all(Array.from({ length: burst }, () => request(name, 0, token)))
    burstMs.push(getMedian(costs.map(({ durationMs }) => durationMs)))
  }
  const burstRow = {
    ...freshRow,
    situation: `${burst} requests at once into a new isolate, p50`,
    medianMs: getMedian(burstMs),
  }

  const bothCosts: Cost[] = []
  for (const name of both) bothCosts.push(await signInAndRequest(name))
  const bothRow = toRow('new isolate: token that derives a hash, then list, together', 1, bothCosts)
  const failingRows = await signInTwice(failing, 'error', 'new isolate: token that derives a hash, while D1 fails')
  const hangingNames = hanging.slice(0, hangingSamples)
  const hangingRows = await signInTwice(
    hangingNames,
    'hang',
    'new isolate: token while D1 hangs, after the deadline of 5 s',
  )
  return [idleRow, idlePartnerRow, freshRow, burstRow, firstRow, nextRow, bothRow, ...failingRows, ...hangingRows]
}

function addCosts(one: Cost, other: Cost): Cost {
  return {
    ...other,
    durationMs: one.durationMs + other.durationMs,
    trips: one.trips + other.trips,
    kvReads: one.kvReads + other.kvReads,
    kvWrites: one.kvWrites + other.kvWrites,
    d1Queries: one.d1Queries + other.d1Queries,
  }
}

function getMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
