// Limits how many log lines an isolate writes in a second about requests that are many and tell little.
export const maxLinesPerSecond = 5

/** Counts a line. @returns whether it may be written: the lines of this second are within the limit */
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
