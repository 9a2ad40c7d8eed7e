import { describe, expect, test } from 'vitest'
import { classifyAnswer, CloudflareError, isUncertain, type FailureKind } from '../../../src/ops/store/failure.ts'
import { makeTrackedChange, type OutcomeTracker, type Outcome } from '../../../src/ops/store/outcome.ts'
import { retry } from '../../../src/ops/store/retry.ts'

test.each<[FailureKind, number, number, string]>([
  ['busy', 429, 7429, 'D1 DB is overloaded. Requests queued for too long.'],
  ['busy', 400, 7429, 'D1 DB is overloaded. Too many requests queued.'],
  ['busy', 429, 971, 'Please wait and consider throttling your request speed'],
  ['busy', 429, 10429, 'Rate limited'],
  ['stopped', 429, 7429, 'D1 DB exceeded its memory limit and was reset.'],
  ['stopped', 400, 7500, 'D1 DB exceeded its CPU time limit and was reset.'],
  ['unknown', 429, 7429, 'D1 DB storage operation exceeded timeout which caused object to be reset.'],
  ['unknown', 500, 7500, 'D1_ERROR: Network connection lost.'],
  ['unknown', 400, 7500, 'D1 DB reset because its code was updated.'],
  ['unknown', 502, 7000, 'bad gateway'],
  ['unknown', 503, 7000, 'overloaded'],
  ['refused', 400, 7500, 'UNIQUE constraint failed: partners.short_name: SQLITE_CONSTRAINT'],
  ['refused', 404, 7404, 'The database could not be found'],
])('an answer of Cloudflare is %s: %i, %i, %s', (kind, status, code, reason) => {
  expect(classifyAnswer(status, [code], reason)).toBe(kind)
})

const busy = new Error('D1_ERROR: database is locked: SQLITE_BUSY')
const overloaded = new CloudflareError('overloaded', { kind: 'busy' })
const unknown = new CloudflareError('lost', { kind: 'unknown' })
const stopped = new CloudflareError('too much', { kind: 'stopped' })
const refused = new CloudflareError('refused')

/** Fails with each error in turn, and notes the waits and the lines for people. */
async function retryAfter(errors: readonly Error[]) {
  const state = { attempts: 0, delays: [] as number[], lines: [] as string[] }
  const call = async () => {
    const error = errors[state.attempts++]
    if (error) throw error
    return 'done'
  }
  const result = await retry(call, {
    random: () => 1,
    delay: async (ms: number) => void state.delays.push(ms),
    report: (line: string) => void state.lines.push(line),
  }).catch((error: unknown) => error)
  return { result, ...state }
}

const forever = (error: Error) => Array.from({ length: 1000 }, () => error)
const asks = (retryAfterSeconds: number) => new CloudflareError('slow down', { kind: 'busy', retryAfterSeconds })

describe('retry', () => {
  test.each([
    ['a busy store', busy],
    ['an overloaded database', overloaded],
    ['an unknown outcome', unknown],
    ['an error around it', new Error('Failed query', { cause: unknown })],
  ])('repeats after %s, and returns what the call returns', async (_, error) => {
    expect(await retryAfter([error, error])).toEqual({ result: 'done', attempts: 3, delays: [100, 200], lines: [] })
  })

  test.each([
    ['a refusal', refused],
    ['a bug', new TypeError('bug')],
    ['a statement that needs too much', stopped],
    [
      'an error whose parameters look like a failure',
      new Error('Failed query: insert params: SQLITE_BUSY', { cause: new Error('CHECK constraint failed') }),
    ],
  ])('never repeats after %s', async (_, error) => {
    expect(await retryAfter([error])).toEqual({ result: error, attempts: 1, delays: [], lines: [] })
  })

  test('gives up after four attempts whose outcome is unknown', async () => {
    expect(await retryAfter(forever(unknown))).toMatchObject({ result: unknown, attempts: 4 })
  })

  test.each([refused, asks(9999)])('a refusal after a lost answer leaves the outcome unknown: %s', async (last) => {
    const { result } = await retryAfter([unknown, last])
    expect(result).toEqual(new CloudflareError(last.message, { kind: 'unknown' }))
    expect(isUncertain(result)).toBe(true)
  })

  // Also when the store asks for no pause.
  test.each([
    [busy, 8000],
    [asks(0), 330_000],
  ])('waits from 0.1 to 1 s between two attempts, and gives up: %s', async (error, maxMs) => {
    const { result, delays } = await retryAfter(forever(error))
    expect(result).toBe(error)
    const waitedMs = delays.reduce((sum, ms) => sum + ms, 0)
    expect({ shortest: Math.min(...delays), longest: Math.max(...delays) }).toEqual({ shortest: 100, longest: 1000 })
    expect(maxMs - waitedMs).toBeGreaterThanOrEqual(0)
    expect(maxMs - waitedMs).toBeLessThan(1000)
  })

  test('waits as long as the store asks, and says so when that is long', async () => {
    expect(await retryAfter([asks(2), asks(240), asks(5), asks(300)])).toMatchObject({
      result: { message: 'slow down' },
      delays: [2000, 240_000, 5000],
      lines: ['Waiting 240 s, as Cloudflare asks.'],
    })
  })

  test('repeats a lost answer also after a long wait', async () => {
    expect(await retryAfter([asks(60), unknown])).toMatchObject({ result: 'done' })
  })
})

const step = (result: Error | string | undefined) => async () => {
  if (result instanceof Error) throw result
  return result
}

test.each<[string, Error | string | undefined, Error | string | undefined, Outcome]>([
  ['made', 'made', undefined, 'changed'],
  ['repeated, and was made the first time', undefined, 'found', 'changed'],
  ['without effect', undefined, undefined, 'unchanged'],
  ['refused', refused, undefined, 'unchanged'],
  ['never answered', unknown, 'found', 'unknown'],
  ['interrupted, because it needs too much', stopped, 'found', 'unknown'],
  ['repeated, and then nothing can be read', undefined, busy, 'unknown'],
])('a change that is %s', async (_, attempted, found, outcome) => {
  const changes: OutcomeTracker = { outcome: 'unchanged' }
  const result = await makeTrackedChange(changes, step(attempted), step(found)).catch((error: unknown) => error)
  expect({ result, outcome: changes.outcome }).toEqual({ result: attempted ?? found, outcome })
})
