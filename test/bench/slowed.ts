// The Worker as deployed, with D1 and KV slowed by fixed amounts, a D1 that can fail, and a clock that can be set. A request with
// its own settings is answered with what it cost, when the work after the response has ended.
import { d1Faults, interceptD1, interceptKv, takeMs } from '../support/unreliable-stores.ts'
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

export interface Settings {
  /** How long an answer of D1 and of KV takes. The local D1's own time, about 5 ms, is part of it. */
  d1Ms: number
  kvMs: number
  /** Whether D1 answers, fails or hangs, after its time. */
  d1: keyof typeof d1Faults
  /** How far the Worker's clock is ahead. */
  clockMs: number
}

/** What one request called, work after the response included. */
export interface Calls {
  kvReads: number
  kvWrites: number
  d1Queries: number
}

export interface Cost extends Calls {
  status: number
  /** From the arrival of the request to the last byte of the response, inside the Worker. */
  durationMs: number
  /** Sequential round trips before the response: calls that ran at the same time count as one. */
  trips: number
  /** The token, if the request asked for one. */
  accessToken: string | undefined
}

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

let settings: Settings = { d1Ms: 0, kvMs: 0, d1: 'fine', clockMs: 0 }
const none: Calls = { kvReads: 0, kvWrites: 0, d1Queries: 0 }
let counts = { ...none }
/** The calls that have ended. */
let calls: { startMs: number; endMs: number }[] = []
let metered: Bindings | undefined

const realNow = Date.now.bind(Date)
Date.now = () => realNow() + settings.clockMs

export default {
  async fetch(request, env, context) {
    if (request.method === 'DELETE') return collectGarbage()
    if (request.method === 'PUT') return change(await request.json())
    metered ??= { ...env, ...meter(env) }
    const header = request.headers.get('X-Settings')
    if (header === null) return app.fetch(request, metered, context)
    settings = JSON.parse(header) as Settings
    const work: Promise<unknown>[] = []
    const collecting = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }
    counts = { ...none }
    calls = []
    const startMs = performance.now()
    const response: Response = await app.fetch(request, metered, collecting)
    const body = await response.arrayBuffer()
    const waited = { status: response.status, durationMs: performance.now() - startMs, trips: countTrips() }
    // The work after the response counts, but nobody waits for it.
    context.waitUntil(Promise.allSettled(work))
    await Promise.allSettled(work)
    const accessToken = request.method === 'POST' ? readToken(body) : undefined
    return Response.json({ ...waited, ...counts, accessToken } satisfies Cost)
  },
} satisfies ExportedHandler<Bindings>

/** Needs the flag --expose-gc. */
function collectGarbage(): Response {
  ;(globalThis as { gc?: () => void }).gc?.()
  return new Response()
}

/** Changes the settings of requests that have none of their own. @returns the calls since the last change. */
function change(next: Settings): Response {
  const counted = counts
  settings = next
  counts = { ...none }
  return Response.json(counted)
}

function readToken(body: ArrayBuffer): string | undefined {
  return (JSON.parse(new TextDecoder().decode(body)) as { access_token?: string }).access_token
}

/** Counts the calls that waited for each other, from the last one back: each ended before the next one started. */
function countTrips(): number {
  let count = 0
  let beforeMs = Infinity
  for (const { startMs, endMs } of calls.toSorted((a, b) => b.endMs - a.endMs)) {
    if (endMs > beforeMs) continue
    count++
    beforeMs = startMs
  }
  return count
}

/** Makes a call that takes at least `ms`, and records when it ran. */
async function time<Answer>(ms: number, call: () => Promise<Answer>): Promise<Answer> {
  const startMs = performance.now()
  const answer = await takeMs(ms)(call)
  calls.push({ startMs, endMs: performance.now() })
  return answer
}

/** Returns the stores with slow calls that are counted. */
function meter({ DB, CATALOG_CACHE }: Bindings): Bindings {
  return {
    DB: interceptD1(DB, async (call) => {
      counts.d1Queries++
      const rows = await time(settings.d1Ms, call)
      return d1Faults[settings.d1](async () => rows)
    }),
    CATALOG_CACHE: interceptKv(CATALOG_CACHE, {
      read: (call) => {
        counts.kvReads++
        return time(settings.kvMs, call)
      },
      write: (call) => {
        counts.kvWrites++
        return time(settings.kvMs, call)
      },
    }),
  }
}
