// One JSON line per event. Callers pass facts of ours only: never a header, a token, a secret, a hash or SQL parameters.

type LogLevel = 'info' | 'warn' | 'error'

interface LogEvent {
  /** What happened, in snake_case: `request`, `kv_failed`, … */
  event: string
  [field: string]: string | number | boolean | undefined
}

export function log(level: LogLevel, event: LogEvent): void {
  console[level](JSON.stringify({ level, ...event }))
}

/** What an unknown thrown value says of itself, for the log alone. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'a thrown value that is no Error'
}
