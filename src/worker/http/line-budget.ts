// Limits the log lines of the requests that are many and tell little.

/** In one isolate. */
export const maxLinesPerSecond = 5

/** Returns whether another line fits into the current second. */
export type TakeLine = (nowMs: number) => boolean

export function createLineBudget(): TakeLine {
  let second = 0
  let lines = 0
  return (nowMs) => {
    const currentSecond = Math.floor(nowMs / 1000)
    if (currentSecond !== second) lines = 0
    second = currentSecond
    return ++lines <= maxLinesPerSecond
  }
}
