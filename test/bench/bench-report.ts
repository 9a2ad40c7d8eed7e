// The tables that the benchmark prints.
import { formatTable } from '../../src/ops/terminal/table.ts'
import type { CommandRow } from './measure-commands.ts'
import type { Costs } from './measure-costs.ts'
import type { Flood } from './measure-flood.ts'
import type { Growth } from './measure-growth.ts'
import { isTooManyTrips, type LatencyRow } from './measure-latency.ts'
import type { MemoryRow } from './measure-memory.ts'
import type { OutageRow } from './measure-outage.ts'
import type { RatioRow } from './measure-ratios.ts'
import type { Estimate, Verdict } from './regression.ts'
import type { Calls } from './slowed.ts'

export interface ComparedRow extends RatioRow {
  baseline: Estimate | undefined
  verdict: Verdict
}

const formatRate = (value: number) => String(Math.round(value))
const formatEstimate = ({ median, low, high }: Estimate) =>
  `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`

export function formatRatios(rows: readonly ComparedRow[]): string {
  return formatTable(
    rows.map(({ name, app, bare, ratio, baseline, goal, verdict }) => ({
      WHAT: name,
      'REQUESTS/S': formatRate(app.requestsPerSecond),
      P50: `${app.p50Ms} ms`,
      P99: `${app.p99Ms} ms`,
      BARE: formatRate(bare.requestsPerSecond),
      'BARE P99': `${bare.p99Ms} ms`,
      RATIO: formatEstimate(ratio),
      BASELINE: baseline === undefined ? '' : formatEstimate(baseline),
      VERDICT: verdict,
      GOAL: `${goal.toFixed(2)}${ratio.high < goal ? ' missed' : ''}`,
    })),
  )
}

export function formatCommands(rows: readonly CommandRow[]): string {
  return formatTable(
    rows.map(({ command, cpuMs, beforeMs, goal }) => ({
      COMMAND: command,
      CPU: `${Math.round(cpuMs)} ms`,
      ...(beforeMs !== undefined && {
        BEFORE: `${Math.round(beforeMs)} ms`,
        RATIO: (cpuMs / beforeMs).toFixed(2),
        GOAL: `${goal.toFixed(2)}${cpuMs / beforeMs > goal ? ' missed' : ''}`,
      }),
    })),
  )
}

export function formatCosts(costs: Costs): string {
  return formatTable(Object.entries(costs).map(([name, cost]) => ({ WHAT: name, ...formatCalls(cost) })))
}

function formatCalls({ d1Queries, rowsRead, kvReads, kvWrites }: Calls) {
  return {
    'D1 QUERIES': String(d1Queries),
    'ROWS READ': String(rowsRead),
    'KV READS': String(kvReads),
    'KV WRITES': String(kvWrites),
  }
}

export function formatLatency(rows: readonly LatencyRow[]): string {
  return formatTable(
    rows.map((row) => ({
      LATENCY: row.latency,
      SITUATION: row.situation,
      MEDIAN: `${Math.round(row.medianMs)} ms`,
      TRIPS: isTooManyTrips(row) ? `${row.trips}, more than ${row.maxTrips}` : String(row.trips),
      ...formatCalls(row),
    })),
  )
}

export function formatMemory(rows: readonly MemoryRow[]): string {
  const formatMegabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`
  return formatTable(
    rows.map(({ situation, listBytes, bufferBytes, heapBytes, refused }) => ({
      MEMORY: situation,
      'LISTS, ONCE EACH': formatMegabytes(listBytes),
      BUFFERS: formatMegabytes(bufferBytes),
      HEAP: formatMegabytes(heapBytes),
      REFUSED: String(refused),
    })),
  )
}

export function formatOutage(rows: readonly OutageRow[]): string {
  return formatTable(
    rows.map(({ situation, requests, d1Queries, p50Ms, p99Ms }) => ({
      OUTAGE: situation,
      REQUESTS: String(requests),
      'D1 QUERIES': String(d1Queries),
      P50: `${p50Ms} ms`,
      P99: `${p99Ms} ms`,
    })),
  )
}

export function formatGrowth({ lists, tokens }: Growth): string {
  const listTable = formatTable(
    lists.map((row) => ({
      PLANS: String(row.plans),
      BYTES: String(row.bytes),
      'MEMORY/S': formatRate(row.memoryPerSecond),
      '304/S': formatRate(row.notModifiedPerSecond),
    })),
  )
  const tokenTable = formatTable(
    tokens.map((row) => ({
      PARTNERS: String(row.partners),
      'TOKENS/S': formatRate(row.perSecond),
      'ROWS READ': String(row.rowsRead),
    })),
  )
  return `${listTable}\n${tokenTable}`
}

export function formatFlood({ alone, unlimited, limited }: Flood): string {
  const rows = [
    { name: 'no attack', list: alone, attackers: undefined },
    { name: '16 attackers, no rate limit', ...unlimited },
    { name: '16 attackers, rate limit', ...limited },
  ]
  return formatTable(
    rows.map(({ name, list, attackers }) => ({
      'LIST OF 30 PLANS WITH': name,
      'LISTS/S': formatRate(list.requestsPerSecond),
      P50: `${list.p50Ms} ms`,
      P99: `${list.p99Ms} ms`,
      'ATTACKS/S': attackers === undefined ? '' : formatRate(attackers.requestsPerSecond),
    })),
  )
}
