export const maxLinesPerSecond = 5

/** Counts a log line. @returns false if this second already has `maxLinesPerSecond`: then the line must not be written */
export type AllowLine = (nowMs: number) => boolean

/** Limits the log lines that an isolate writes about minor requests: see `isMinor` in request-log.ts. */
export function createLineBudget(): AllowLine {
  let second = 0
  let lines = 0
  return (nowMs) => {
    const currentSecond = Math.floor(nowMs / 1000)
    if (currentSecond !== second) lines = 0
    second = currentSecond
    return ++lines <= maxLinesPerSecond
  }
}
