import { expect, test } from 'vitest'
import {
  createWeighLine,
  maxLinesPerSecond as limit,
  type AnsweredRequest,
  type WeighLine,
} from '../../../src/worker/http/line-weight.ts'

const startMs = Date.UTC(2026, 10, 23)
const fromMemory = { tier: 'memory', ageSeconds: 0, isOld: false }
const list = { status: 200, durationMs: 0, answeredBy: fromMemory, endedAtMs: startMs }

/** Draws every thousandth of the numbers from 0 to 1 equally often. */
function createEvenRandom() {
  let drawn = 0
  return () => (drawn++ % 1000) / 1000
}

const countLines = (weighLine: WeighLine, requests: AnsweredRequest[]) => requests.filter(weighLine).length
const repeat = (count: number, request: AnsweredRequest) => Array.from({ length: count }, () => request)

test('some lists from memory have a line in each second, and none beyond that if chance says no', () => {
  const weighLine = createWeighLine(() => 0.01)
  const weights = repeat(50, list).map(weighLine)
  expect(weights).toEqual(Array.from({ length: 50 }, (_, index) => (index < limit ? 1 : 0)))
  expect(countLines(weighLine, repeat(50, { ...list, endedAtMs: startMs + 999 }))).toBe(0)
  expect(countLines(weighLine, repeat(50, { ...list, endedAtMs: startMs + 1000 }))).toBe(limit)
})

test('HTTP 304 counts as a list', () => {
  const weighLine = createWeighLine(() => 0.01)
  expect(countLines(weighLine, [...repeat(15, list), ...repeat(15, { ...list, status: 304 })])).toBe(limit)
})

test('requests outside the API count as lists, except bugs', () => {
  const elsewhere = { status: 404, durationMs: 501, isOutsideApi: true, answeredBy: undefined, endedAtMs: startMs }
  const weighLine = createWeighLine(() => 0.01)
  expect(countLines(weighLine, [...repeat(30, elsewhere), ...repeat(30, list)])).toBe(limit)
  expect(countLines(weighLine, repeat(30, { ...elsewhere, status: 500 }))).toBe(30)
})

test.each([1, limit, limit + 1, 83, 1000, 9000])(
  'the weights of 100 seconds at %i requests a second add up to their number',
  (rate) => {
    const weighLine = createWeighLine(createEvenRandom())
    const weights = Array.from({ length: 100 }, (_, second) =>
      repeat(rate, { ...list, endedAtMs: startMs + 1000 * second }).map(weighLine),
    ).flat()
    const sum = weights.reduce((total, weight) => total + weight, 0)
    // The even numbers begin with those that have a line.
    expect(Math.abs(sum - 100 * rate)).toBeLessThan(1000)
    expect(new Set(weights.filter(Boolean))).toEqual(new Set(rate > limit ? [1, 100] : [1]))
    expect(weights.filter(Boolean).length).toBeLessThanOrEqual(100 * (limit + 0.01 * rate) + 10)
  },
)

test('without a random number, one request in about a hundred has a line', () => {
  const weighLine = createWeighLine()
  // The standard deviation is 31.5 lines.
  const lines = countLines(weighLine, repeat(100_000 + limit, list)) - limit
  expect(Math.abs(lines - 1000)).toBeLessThan(6 * 31.5)
})

test.each<[string, Partial<AnsweredRequest>]>([
  ['a refusal', { status: 400, answeredBy: undefined }],
  ['a list that could not be sent', { status: 503 }],
  ['a bug', { status: 500, answeredBy: undefined }],
  ['a token', { answeredBy: undefined }],
  ['a list from KV', { answeredBy: { ...fromMemory, tier: 'kv' } }],
  ['a list from D1', { answeredBy: { ...fromMemory, tier: 'd1' } }],
  ['a list from memory that may be outdated', { answeredBy: { ...fromMemory, isOld: true } }],
  ['a slow list from memory', { durationMs: 501 }],
])('%s always has a line, and takes none from the lists', (_, facts) => {
  const weighLine = createWeighLine(() => 0.01)
  const requests = repeat(100, { ...list, ...facts })
  expect(new Set(requests.map(weighLine))).toEqual(new Set([1]))
  expect(countLines(weighLine, repeat(100, list))).toBe(limit)
  expect(new Set(requests.map(weighLine))).toEqual(new Set([1]))
})

test('a clock that steps back does not prolong a second, and one that goes to and fro does not shorten it', () => {
  const weighLine = createWeighLine(() => 0.01)
  expect(countLines(weighLine, repeat(50, list))).toBe(limit)
  const hourAgo = { ...list, endedAtMs: startMs - 3600_000 }
  expect(countLines(weighLine, repeat(50, hourAgo))).toBe(limit)
  const earlier = { ...hourAgo, endedAtMs: hourAgo.endedAtMs - 1 }
  expect(
    countLines(
      weighLine,
      repeat(50, earlier).flatMap((request) => [request, hourAgo]),
    ),
  ).toBe(0)
})
