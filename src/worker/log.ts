// Writes one JSON line per event. Never log a header, a token, a secret, a hash, a cache key or SQL parameters.

export interface LogEvent {
  /** The event in snake_case, such as `request` or `kv_failed`. */
  event: string
  [field: string]: string | number | boolean | undefined
}

export function log(level: 'info' | 'warn' | 'error', event: LogEvent): void {
  console[level](JSON.stringify({ level, ...event }))
}

/** Writes a data point to the usage dataset. Never throws: a failure of the dataset must not fail a request. */
export function writeDataPoint(dataset: AnalyticsEngineDataset | undefined, point: AnalyticsEngineDataPoint): void {
  try {
    dataset?.writeDataPoint(point)
  } catch {
    // The point is lost.
  }
}

/** Logs a problem that does not fail the request, with the request's ID. */
export type LogWarning = (event: LogEvent) => void

export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'a thrown value that is not an Error'
}
