// D1 with a primary, and one read replica per region that lags behind it.
import { StorageError } from '../../src/db/database.ts'
import { queryD1 } from '../../src/worker/deadline.ts'
import type { CatalogSession, OpenSession } from '../../src/worker/cache/cache-context.ts'
import { renderList, type CatalogHistory, type Moment } from './catalog-history.ts'
import type { Outages } from './outages.ts'
import type { Random } from './random.ts'
import type { Meter } from './report.ts'
import type { Lifetimes, SimulatedRequest } from './simulated-isolate.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** The rules allow this much on top of the policy's two minutes. */
export const maxLagMs = 6000

const medianMs = 100
const primaryExtraMs = 80
const citiesPerRegion = 7

/** What a query reads, as measured on the real schema: the check, a plan of a list, and a list's revision. */
const rowsPerCheck = 4
const rowsPerPlan = 2
const rowsPerList = 3

interface SimulatedD1Options {
  clock: VirtualClock
  random: Random
  history: CatalogHistory
  outages: Outages
  lifetimes: Lifetimes
  meter: Meter
  cities: number
}

export type OpenSimulatedSession = (request: SimulatedRequest) => OpenSession

export function createSimulatedD1(options: SimulatedD1Options): OpenSimulatedSession {
  const { clock, random, history, outages, lifetimes, meter, cities } = options
  const regions = Math.ceil(cities / citiesPerRegion)
  /** The time of the primary that each replica has caught up with. */
  const replicas = Array.from({ length: regions }, () => -Infinity)

  /** A replica never goes back in time. */
  function readReplica(region: number): number {
    const lagMs = random.chance(0.05) ? random.between(1000, maxLagMs) : random.between(100, 1000)
    replicas[region] = Math.max(replicas[region]!, clock.now() - lagMs)
    return replicas[region]
  }

  function query<T>(
    request: SimulatedRequest,
    session: { from: 'nearest' | 'primary'; bookmarkMs: number },
    read: (moment: Moment) => { result: T; rows: number },
  ): Promise<T> {
    const { isolate } = request
    // Now and then a query is routed to another region's replica, which lags differently.
    const region = random.chance(0.05) ? random.integer(regions) : Math.floor(isolate.city / citiesPerRegion)
    const latencyMs = computeLatencyMs(random) + (session.from === 'primary' ? primaryExtraMs : 0)
    const startedAtMs = clock.now()
    const trip = request.trips + 1
    const answer = new Promise<T>((resolve, reject) => {
      clock.at(startedAtMs + latencyMs / 2, () => {
        const health = outages.d1(isolate.city, session.from === 'primary' ? 'primary' : 'replica')
        if (health === 'hang') return
        const settle =
          health === 'error' || random.chance(0.00005) ? () => reject(new StorageError('D1 is down')) : execute()
        lifetimes.deliver(request, startedAtMs + latencyMs, () => {
          request.trips = Math.max(request.trips, trip)
          settle()
        })
      })

      function execute(): () => void {
        const nowMs = session.from === 'primary' ? clock.now() : readReplica(region)
        session.bookmarkMs = Math.max(session.bookmarkMs, nowMs)
        const { result, rows } = read(history.at(session.bookmarkMs))
        meter.d1Queries++
        meter.d1Rows += rows
        return () => resolve(result)
      }
    })
    return queryD1(answer).catch((error: unknown) => {
      request.trips = Math.max(request.trips, trip)
      isolate.d1FailedAtMs = clock.now()
      throw error
    })
  }

  return (request) => {
    const nearest = { from: 'nearest' as const, bookmarkMs: -Infinity }
    return (from): CatalogSession => {
      const session = from === 'nearest' ? nearest : { from, bookmarkMs: -Infinity }
      return {
        checkPartner: (clientId) =>
          query(request, session, ({ revision, partners, changeId }) => {
            const partner = partners.get(clientId)
            return {
              result: {
                revision,
                changeId: partner === undefined ? 0 : changeId,
                partner: partner && { ...partner, secrets: partner.secrets.map((secret) => ({ ...secret })) },
              },
              rows: rowsPerCheck,
            }
          }),
        loadList: (country, filter) =>
          query(request, session, ({ revision, catalog }) => {
            const { text, total } = renderList(catalog, country, filter)
            const result = { body: new TextEncoder().encode(text), isEmpty: total === 0, revision }
            return { result, rows: rowsPerList + rowsPerPlan * total }
          }),
      }
    }
  }
}

/** Around the median, with a long tail: one query in 10,000 crosses the Worker's deadline. */
function computeLatencyMs(random: Random): number {
  const usualMs = medianMs * random.between(0.8, 1.2)
  if (random.chance(0.0001)) return random.between(4000, 12_000)
  return random.chance(0.01) ? usualMs * random.between(2, 10) : usualMs
}
