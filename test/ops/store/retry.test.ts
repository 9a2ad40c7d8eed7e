import { describe, expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { classifyAnswer, CloudflareError, type FailureKind } from '../../../src/ops/store/failure.ts'
import type { Outcome } from '../../../src/ops/store/outcome.ts'
import { retry, settle } from '../../../src/ops/store/retry.ts'

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
])('an answer of Cloudflare is %s: %i, %i, %s', (kind, status, code, reason) => {
  expect(classifyAnswer(status, [code], reason)).toBe(kind)
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
    ['an error around it', new Error('Failed query', { cause: unknown })],
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

  const asks = (retryAfterSeconds: number) => new CloudflareError('slow down', { kind: 'busy', retryAfterSeconds })

  test('gives up after four attempts whose outcome is unknown', async () => {
    const { call, pacing, state } = failWith(forever(unknown))
    await expect(retry(call, every, pacing)).rejects.toBe(unknown)
    expect(state.attempts).toBe(4)
  })

  // Also when the store asks for no pause.
  test.each([
    [busy, 8000],
    [asks(0), 330_000],
  ])('waits from 0.1 to 1 s between two attempts, and gives up: %s', async (error, maxMs) => {
    const { call, pacing, state } = failWith(forever(error))
    await expect(retry(call, every, pacing)).rejects.toBe(error)
    const waitedMs = state.delays.reduce((sum, ms) => sum + ms, 0)
    expect([Math.min(...state.delays), Math.max(...state.delays)]).toEqual([100, 1000])
    expect(maxMs - waitedMs).toBeGreaterThanOrEqual(0)
    expect(maxMs - waitedMs).toBeLessThan(1000)
  })

  test('waits as long as the store asks, and says so when that is long', async () => {
    const { call, pacing, state } = failWith([asks(2), asks(240), asks(5), asks(300)])
    await expect(retry(call, every, pacing)).rejects.toThrow('slow down')
    expect(state.delays).toEqual([2000, 240_000, 5000])
    expect(state.lines).toEqual(['Waiting 240 s, as Cloudflare asks.'])
  })

  test('repeats a lost answer also after a long wait', async () => {
    const { call, pacing } = failWith([asks(60), unknown])
    expect(await retry(call, every, pacing)).toBe('done')
  })
})

/** What an attempt or a reading back comes to; undefined when it had no effect, or nothing was changed. */
type Step = Error | string | undefined

const takeSteps = (steps: readonly Step[]) => {
  const left = [...steps]
  return async () => {
    if (left.length === 0) throw new Error('no more steps')
    const step = left.shift()
    if (step instanceof Error) throw step
    return step
  }
}
const none = Array.from({ length: 4 }, () => undefined)
const notMade = new UserError('lost The change was not made: try again.', { cause: unknown })
const tooLarge = 'too much The change was not made, and is too large for the database.'

test.each<[string, Step[], Step[], Step, Outcome[]]>([
  ['made', ['made'], [], 'made', []],
  ['without effect', [undefined], [], undefined, []],
  ['refused', [refused], [], refused, []],
  ['lost, and was made', [unknown], ['found'], 'found', ['changed']],
  ['lost, was not made, and is made', [unknown, 'made'], none, 'made', ['unchanged', 'changed']],
  ['lost, was not made, and is refused', [unknown, refused], none, refused, ['unchanged', 'unchanged']],
  // Because the lost attempt had its effect late.
  ['lost, and then refused', [unknown, refused], [undefined, 'late'], 'late', ['unchanged', 'changed']],
  ['lost, and then without effect', [unknown, undefined], [undefined, 'late'], 'late', ['unchanged', 'changed']],
  ['lost each time, and never made', forever(unknown), none, notMade, none.map(() => 'unchanged')],
  ['too large', [exhausted], none, new UserError(tooLarge, { cause: exhausted }), ['unchanged']],
  ['lost, and nothing can be read back', [unknown], [busy], busy, []],
])('settle returns or throws what became of a change that is %s', async (_, attempts, reads, result, expected) => {
  const notes: Outcome[] = []
  const noteOutcome = (outcome: Outcome) => void notes.push(outcome)
  const { pacing } = failWith([])
  const settled = settle({ noteOutcome }, takeSteps(attempts), takeSteps(reads), pacing)
  expect([await settled.catch((error: unknown) => error), notes]).toEqual([result, expected])
})
