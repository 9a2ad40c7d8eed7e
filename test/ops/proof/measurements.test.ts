import { expect, test } from 'vitest'
import { findPercentile, measure, waitForChange, type Reply } from '../../../src/ops/proof/measurements.ts'

const reply = (status: number, ms = 1): Reply => ({ status, ms, headers: new Headers(), body: '' })
const bounds = { pauseMs: 0, boundMs: 60_000, confirmations: 2, signal: new AbortController().signal }

test.each([
  [50, 2],
  [75, 3],
  [76, 4],
  [99, 4],
  [1, 1],
])('the %i th percentile of four values is the %i th', (percent, expected) => {
  expect(findPercentile([4, 1, 3, 2], percent)).toBe(expected)
})

test('no value has no percentile', () => {
  expect(findPercentile([], 50)).toBeUndefined()
})

test('a measurement keeps the durations of expected answers, and the statuses of others', async () => {
  const replies = [reply(200, 5), reply(429), reply(200, 7), reply(0)]
  const series = await measure('list', 4, () => Promise.resolve(replies.shift() ?? reply(500)))
  expect(series).toEqual({ what: 'list', ms: [5, 7], failures: [429, 0] })
})

test('a wait ends after enough answers in a row, and an old answer in between counts', async () => {
  const replies = [reply(401), reply(200, 3), reply(401), reply(200), reply(200), reply(401)]
  let asked = 0
  const request = () => Promise.resolve(replies[asked++] ?? reply(500))
  const wait = await waitForChange('change', bounds, request, ({ status }) => status === 200)
  expect(asked).toBe(5)
  expect(wait.first).toBe(replies[1])
  expect(wait.settledMs).toBeGreaterThan(wait.firstMs ?? Infinity)
})

test('a wait is bounded', async () => {
  const options = { ...bounds, boundMs: 5, pauseMs: 2 }
  let asked = 0
  const alternate = () => Promise.resolve(reply(asked++ % 2 === 0 ? 200 : 401))
  const wait = await waitForChange('change', options, alternate, ({ status }) => status === 200)
  expect(wait).toMatchObject({ firstMs: expect.any(Number), settledMs: undefined })
})

test('a wait ends at once when the run is stopped', async () => {
  const stop = new AbortController()
  const request = () => {
    stop.abort(new Error('stopped'))
    return Promise.resolve(reply(401))
  }
  const options = { ...bounds, pauseMs: 60_000, signal: stop.signal }
  await expect(waitForChange('change', options, request, () => false)).rejects.toThrow('aborted')
})
