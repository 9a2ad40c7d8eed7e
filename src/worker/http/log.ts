// One JSON line per event. Callers pass facts of ours only: never a header, a token, a secret, a hash or SQL parameters.

type LogLevel = 'info' | 'warn' | 'error'

export interface LogEvent {
  /** What happened, in snake_case: `request`, `kv_failed`, … */
  event: string
  [field: string]: string | number | boolean | undefined
}

export function log(level: LogLevel, event: LogEvent): void {
  console[level](JSON.stringify({ level, ...event }))
}

/** Tells of trouble that the request outlives, in the name of the request that met it. */
export type Warn = (event: LogEvent) => void

/** What an unknown thrown value says of itself, for the log alone. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'a thrown value that is no Error'
}
