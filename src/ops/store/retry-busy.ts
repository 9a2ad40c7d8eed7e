// Retrying while another program writes to the local database: SQLite refuses a second writer at once.
import { setTimeout as sleep } from 'node:timers/promises'
import { isCausedBy } from '../../db/database.ts'

const maxWaitMs = 8000
const maxDelayMs = 400

export interface RetryOptions {
  nowMs?: () => number
  /** From 0 up to 1. */
  random?: () => number
  delay?: (ms: number) => Promise<unknown>
}

/**
 * Runs `work` again for some seconds while the database is busy. A refused transaction had no effect, so a write can be
 * repeated: the local runtime runs each call in one transaction.
 * @throws the last error.
 */
export async function retryBusy<T>(
  work: () => Promise<T>,
  { nowMs = () => performance.now(), random = Math.random, delay = sleep }: RetryOptions = {},
): Promise<T> {
  const endMs = nowMs() + maxWaitMs
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!mayBeBusy(error)) throw error
      // Random, so that programs that wait for each other don't try again at the same time.
      const delayMs = Math.min(maxDelayMs, 20 * 2 ** attempt) * (0.5 + random() / 2)
      if (nowMs() + delayMs > endMs) throw error
      await delay(delayMs)
    }
  }
}

/** The runtime prints most errors of SQLite, and only says "internal error" or "failed: 500" here. */
function mayBeBusy(error: unknown): boolean {
  return isCausedBy(error, /SQLITE_BUSY|internal error|KV .* failed: 500/)
}
