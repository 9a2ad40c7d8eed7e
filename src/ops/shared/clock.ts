/** Reads the time, and waits. A test passes a clock that does not wait. */
export interface Clock {
  /** Unix milliseconds. */
  nowMs: () => number
  sleep: (ms: number) => Promise<void>
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}
