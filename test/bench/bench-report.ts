// The tables that the benchmark prints.
import { formatTable } from '../../src/ops/terminal/table.ts'
import { isTooManyTrips, type LatencyRow } from './measure-latency.ts'
import type { MemoryRow } from './measure-memory.ts'
import type { OutageRow } from './measure-outage.ts'
import { isMissed, type RatioRow } from './measure-ratios.ts'

export function formatRatios(rows: readonly RatioRow[]): string {
  return formatTable(
    rows.map((row) => ({
      WHAT: row.name,
      RATIO: `${row.ratio.median.toFixed(2)} (${row.ratio.low.toFixed(2)}-${row.ratio.high.toFixed(2)})`,
      GOAL: `${row.goal.toFixed(2)}${isMissed(row) ? ' missed' : ''}`,
    })),
  )
}

export function formatLatency(rows: readonly LatencyRow[]): string {
  return formatTable(
    rows.map((row) => ({
      LATENCY: row.situation,
      MEDIAN: `${Math.round(row.medianMs)} ms`,
      TRIPS: isTooManyTrips(row) ? `${row.trips}, more than ${row.maxTrips}` : String(row.trips),
      'D1 QUERIES': String(row.d1Queries),
      'KV READS': String(row.kvReads),
      'KV WRITES': String(row.kvWrites),
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
