import { expect, test } from 'vitest'
import { retryBusy } from '../../../src/ops/store/retry-busy.ts'

/** Runs work that fails with these messages first, on a clock that only moves by the delays. */
async function run(...messages: string[]) {
  let [nowMs, attempts] = [0, 0]
  const delays: number[] = []
  const work = async () => {
    const message = messages[attempts++]
    if (message !== undefined) throw new Error('Failed query', { cause: new Error(message) })
    return 'done'
  }
  const delay = async (ms: number) => {
    nowMs += ms
    delays.push(ms)
  }
  const outcome = await retryBusy(work, { nowMs: () => nowMs, random: () => 0.5, delay }).catch((error: Error) =>
    String(error.cause),
  )
  return { outcome, attempts, delays }
}

test.each([
  'D1_ERROR: database is locked: SQLITE_BUSY',
  'D1_ERROR: Failed to get session commit token: internal error; reference = x',
  'KV DELETE failed: 500 Internal Server Error',
])('runs work again after %s', async (message) => {
  expect(await run(message, message)).toEqual({ outcome: 'done', attempts: 3, delays: [15, 30] })
})

test.each(['D1_ERROR: UNIQUE constraint failed: partners.short_name', 'no such table: partners'])(
  'throws %s at once',
  async (message) => {
    expect(await run(message)).toEqual({ outcome: `Error: ${message}`, attempts: 1, delays: [] })
  },
)

test('throws the last error after some seconds, and tries often enough until then', async () => {
  const { outcome, delays } = await run(...Array.from({ length: 100 }, () => 'SQLITE_BUSY'))
  const waitedMs = delays.reduce((sum, ms) => sum + ms, 0)
  expect(outcome).toBe('Error: SQLITE_BUSY')
  expect(waitedMs).toBeGreaterThan(7000)
  expect(waitedMs).toBeLessThanOrEqual(8000)
  expect(Math.max(...delays)).toBeLessThanOrEqual(400)
})
