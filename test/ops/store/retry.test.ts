import { beforeEach, describe, expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { classifyAnswer, CloudflareError, type FailureKind } from '../../../src/ops/store/failure.ts'
import type { Outcome } from '../../../src/ops/store/outcome.ts'
import { retry, settle } from '../../../src/ops/store/retry.ts'

describe('an answer of Cloudflare', () => {
  test.each<[FailureKind, number, number, string]>([
    ['busy', 429, 7429, 'D1 DB is overloaded. Requests queued for too long.'],
    ['busy', 400, 7429, 'D1 DB is overloaded. Too many requests queued.'],
    ['busy', 429, 971, 'Please wait and consider throttling your request speed'],
    ['busy', 429, 10429, 'Rate limited'],
    ['exhausted', 429, 7429, 'D1 DB exceeded its memory limit and was reset.'],
    ['exhausted', 400, 7500, 'D1 DB exceeded its CPU time limit and was reset.'],
    ['unknown', 429, 7429, 'D1 DB storage operation exceeded timeout which caused object to be reset.'],
    ['unknown', 500, 7500, 'D1_ERROR: Network connection lost.'],
    ['unknown', 400, 7500, 'D1 DB reset because its code was updated.'],
    ['unknown', 502, 7000, 'bad gateway'],
    ['unknown', 503, 7000, 'overloaded'],
    ['refused', 400, 7500, 'UNIQUE constraint failed: partners.short_name: SQLITE_CONSTRAINT'],
    ['refused', 404, 7404, 'The database could not be found'],
  ])('is %s: %i, %i, %s', (kind, status, code, reason) => {
    expect(classifyAnswer(status, [code], reason)).toBe(kind)
  })
})

const busy = new Error('D1_ERROR: database is locked: SQLITE_BUSY')
const overloaded = new CloudflareError('overloaded', { kind: 'busy' })
const unknown = new CloudflareError('lost', { kind: 'unknown' })
const exhausted = new CloudflareError('too much', { kind: 'exhausted' })
const refused = new CloudflareError('refused')

/** Fails with each error in turn, and notes the waits and the lines for people. */
function failWith(errors: readonly Error[]) {
  const state = { attempts: 0, delays: [] as number[], lines: [] as string[] }
  const call = async () => {
    const error = errors[state.attempts++]
    if (error) throw error
    return 'done'
  }
  const pacing = {
    random: () => 1,
    delay: async (ms: number) => void state.delays.push(ms),
    report: (line: string) => void state.lines.push(line),
  }
  return { call, pacing, state }
}

const every: FailureKind[] = ['busy', 'unknown']
const forever = (error: Error) => Array.from({ length: 1000 }, () => error)

describe('retry', () => {
  test.each([
    ['a busy store', busy],
    ['an overloaded database', overloaded],
    ['an unknown outcome', unknown],
    ['drizzle’s error around it', new Error('Failed query', { cause: unknown })],
  ])('repeats after %s, and returns what the call returns', async (_, error) => {
    const { call, pacing, state } = failWith([error, error])
    expect(await retry(call, every, pacing)).toBe('done')
    expect(state).toEqual({ attempts: 3, delays: [100, 200], lines: [] })
  })

  test.each([
    ['a refusal', every, refused],
    ['a bug', every, new TypeError('bug')],
    ['a statement that needs too much', every, exhausted],
    [
      'an error whose parameters look like a failure',
      every,
      new Error('Failed query: insert params: SQLITE_BUSY', { cause: new Error('CHECK constraint failed') }),
    ],
    ['an unknown outcome of what may not run twice', ['busy'] as FailureKind[], unknown],
  ])('never repeats after %s', async (_, kinds, error) => {
    const { call, pacing, state } = failWith([error])
    await expect(retry(call, kinds, pacing)).rejects.toBe(error)
    expect(state).toEqual({ attempts: 1, delays: [], lines: [] })
  })

  test('gives up after four attempts whose outcome is unknown', async () => {
    const { call, pacing, state } = failWith(forever(unknown))
    await expect(retry(call, every, pacing)).rejects.toBe(unknown)
    expect(state.attempts).toBe(4)
  })

  test('gives up when the store was busy for 8 s, and waits at most 1 s between two attempts', async () => {
    const { call, pacing, state } = failWith(forever(busy))
    await expect(retry(call, every, pacing)).rejects.toBe(busy)
    const waitedMs = state.delays.reduce((sum, ms) => sum + ms, 0)
    expect(waitedMs).toBeGreaterThan(7000)
    expect(waitedMs).toBeLessThanOrEqual(8000)
    expect(Math.max(...state.delays)).toBe(1000)
  })

  test('waits as long as the store asks, and says so when that is long', async () => {
    const asks = (retryAfterSeconds: number) => new CloudflareError('slow down', { kind: 'busy', retryAfterSeconds })
    const { call, pacing, state } = failWith([asks(2), asks(240), asks(5), asks(300)])
    await expect(retry(call, every, pacing)).rejects.toThrow('slow down')
    expect(state.delays).toEqual([2000, 240_000, 5000])
    expect(state.lines).toEqual(['Waiting 240 s, as Cloudflare asks.'])
  })

  test('never repeats without a pause, and gives up, when the store asks for none', async () => {
    const now = new CloudflareError('slow down', { kind: 'busy', retryAfterSeconds: 0 })
    const { call, pacing, state } = failWith(forever(now))
    await expect(retry(call, every, pacing)).rejects.toThrow('slow down')
    expect(Math.min(...state.delays)).toBe(100)
    expect(state.attempts).toBeLessThan(400)
  })

  test('repeats a lost answer also after a long wait', async () => {
    const { call, pacing } = failWith([new CloudflareError('', { kind: 'busy', retryAfterSeconds: 60 }), unknown])
    expect(await retry(call, every, pacing)).toBe('done')
  })
})

describe('settle', () => {
  /** A change that is attempted in turn with these outcomes. */
  const attemptWith = (
    outcomes: readonly (Error | 'made' | undefined)[],
    readBack: () => Promise<string | undefined>,
  ) => {
    const { pacing } = failWith([])
    const left = [...outcomes]
    const attempt = async () => {
      const outcome = left.shift()
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    const noteOutcome = (outcome: Outcome) => void notes.push(outcome)
    return settle({ noteOutcome }, attempt, readBack, pacing)
  }
  const notes: Outcome[] = []
  beforeEach(() => notes.splice(0))
  const found = async () => 'found'
  const notFound = async () => undefined
  const unread = () => Promise.reject(new Error('not to be read'))

  test.each<[string, (Error | 'made' | undefined)[], () => Promise<string | undefined>, string | undefined]>([
    ['that is made', ['made'], unread, 'made'],
    ['without effect', [undefined], unread, undefined],
    ['that is lost, and was made', [unknown], found, 'found'],
    ['that is lost, and was not made', [unknown, 'made'], notFound, 'made'],
  ])('returns the result of a change %s', async (_, outcomes, readBack, result) => {
    expect(await attemptWith(outcomes, readBack)).toBe(result)
  })

  test.each([
    ['refused', refused],
    ['without effect', undefined],
  ])('an attempt that is %s after a lost one may be so because the lost one had its effect late', async (_, second) => {
    let reads = 0
    const late = async () => (reads++ === 0 ? undefined : 'late')
    expect(await attemptWith([unknown, second], late)).toBe('late')
  })

  test.each<[string, (Error | 'made')[], () => Promise<string | undefined>, Outcome[]]>([
    ['made', [unknown], found, ['changed']],
    ['not made, and then made', [unknown, 'made'], notFound, ['unchanged', 'changed']],
    ['not made, and then refused', [unknown, refused], notFound, ['unchanged', 'unchanged']],
    ['not made, because it needs too much', [exhausted, 'made'], notFound, ['unchanged']],
    ['refused', [refused], unread, []],
  ])('tells the store that a lost change was %s', async (_, outcomes, readBack, expected) => {
    await attemptWith(outcomes, readBack).catch(() => {})
    expect(notes).toEqual(expected)
  })

  test('a refusal is not repeated, and nothing is read', async () => {
    await expect(attemptWith([refused, 'made'], unread)).rejects.toBe(refused)
  })

  test('a change that was lost each time, and never made, is the user’s to repeat', async () => {
    await expect(attemptWith(forever(unknown), notFound)).rejects.toEqual(
      new UserError('lost The change was not made: try again.'),
    )
  })

  test('when nothing can be read back, that is the error: it is not known', async () => {
    await expect(attemptWith([unknown, 'made'], () => Promise.reject(busy))).rejects.toBe(busy)
  })
})
