// What a million lists cost, from the calls that measure-latency.ts counted and Cloudflare's list prices.
import type { LatencyRow } from './measure-latency.ts'

/** US dollars per million, beyond what the paid plan includes. Cloudflare's pages of November 2026. */
const prices = { request: 0.3, cpuMs: 0.02, kvRead: 0.5, kvWrite: 5, d1Row: 0.001, logLine: 0.6 }

/** A check reads at most so many rows. */
const rowsPerQuery = 5
/** On paper: a list from memory takes less than 1 ms. A token takes 15 ms to derive a hash (wrangler.toml), and 1 ms for the rest. */
const cpuMs = { list: 1, token: 16 }

export interface CostRow {
  lists: string
  /** US dollars per million lists. */
  dollars: Record<'requests' | 'cpu' | 'kv' | 'd1' | 'log', number>
}

/** Each list needs what the situation needed. */
const situations = [
  { lists: 'from memory, five a second in an isolate', like: 'another one active', tokens: 0, logLines: 1 },
  { lists: 'from memory, a hundred a second in an isolate', like: 'another one active', tokens: 0, logLines: 0.05 },
  { lists: 'each in a new isolate', like: 'KV has the list', tokens: 0, logLines: 1 },
  { lists: 'each in a new isolate, with a token of its own', like: 'token, then list', tokens: 1, logLines: 2 },
]

export function computeCosts(rows: readonly LatencyRow[]): CostRow[] {
  return situations.map(({ lists, like, tokens, logLines }) => {
    const row = rows.find(({ situation }) => situation.includes(like))
    if (row === undefined) throw new Error(`No situation is called ${like}.`)
    const dollars = {
      requests: (1 + tokens) * prices.request,
      cpu: (cpuMs.list + tokens * cpuMs.token) * prices.cpuMs,
      kv: row.kvReads * prices.kvRead + row.kvWrites * prices.kvWrite,
      d1: row.d1Queries * rowsPerQuery * prices.d1Row,
      log: logLines * prices.logLine,
    }
    return { lists, dollars }
  })
}

/** Measured by one-question.test.ts: queries an hour of an isolate that is always used, and what each partner adds. */
const queriesPerHour = { isolate: 52, partner: 1.08 }

/** @param sharing isolates that each partner uses. */
export function computeQueriesPerSecond(isolates: number, partners: number, sharing: number): number {
  return (isolates * queriesPerHour.isolate + partners * sharing * queriesPerHour.partner) / 3600
}
