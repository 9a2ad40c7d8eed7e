// Decides which requests have a line in the log. Lists from memory are most of the requests and the least interesting ones, and
// a line costs more than the rest of such a request. Programs that look for holes ask for many paths outside the API.
import type { AppEnv } from './app-env.ts'

/**
 * A request that took longer always has a line. A list from memory waits for at most one check, which takes about 200 ms with a
 * D1 that needs as long. Only I/O counts: the Worker's clock stands still while it computes.
 */
const slowMs = 500
/** The sampled requests of each second that have a line, in one isolate. */
export const maxLinesPerSecond = 5
/** Beyond that, one in a hundred has a line, on average. */
const sampledWeight = 100

export interface AnsweredRequest {
  status: number
  durationMs: number
  isOutsideApi?: boolean
  answeredBy: AppEnv['Variables']['answeredBy']
  /** Unix milliseconds. */
  endedAtMs: number
}

/**
 * Returns the number of requests that the line of this request counts for, or 0 if it has no line. The sum over lines estimates
 * the number of requests, also of those of one partner or with one status.
 */
export type WeighLine = (request: AnsweredRequest) => number

/** @param random returns a number from 0 up to, but not including, 1 */
export function createWeighLine(random: () => number = Math.random): WeighLine {
  let secondBeganAtMs = -Infinity
  let lines = 0

  return ({ status, durationMs, isOutsideApi, answeredBy, endedAtMs }) => {
    const isFromMemory = answeredBy?.tier === 'memory' && !answeredBy.isOld
    const isSampled = isOutsideApi ? status < 500 : isFromMemory && status < 400 && durationMs <= slowMs
    if (!isSampled) return 1
    // A clock that stepped back must not prolong a second.
    if (Math.abs(endedAtMs - secondBeganAtMs) >= 1000) {
      secondBeganAtMs = endedAtMs
      lines = 0
    }
    if (lines < maxLinesPerSecond) {
      lines++
      return 1
    }
    return random() < 1 / sampledWeight ? sampledWeight : 0
  }
}
