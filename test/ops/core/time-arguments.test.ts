import { expect, it } from 'vitest'
import { parseDueTime, parseTime, parsePast } from '../../../src/ops/core/time-arguments.ts'

const noon = Date.UTC(2026, 9, 3, 12) / 1000

it.each([
  ['2026-10-03T12:00Z', noon],
  ['2026-10-03T12:00:00Z', noon],
  ['2026-10-03T12:00:59.999Z', noon + 59],
  ['2026-10-03T15:00+03:00', noon],
  ['2026-10-03T08:30:00-03:30', noon],
  ['2028-02-29T00:00Z', Date.UTC(2028, 1, 29) / 1000],
])('reads the time %s', (text, seconds) => {
  expect(parseTime(text)).toBe(seconds)
  expect(parsePast(text, 0)).toBe(seconds)
})

it.each([
  '2026-10-03',
  '2026-10-03T12:00',
  '2026-10-03 12:00Z',
  '2026-10-03t12:00Z',
  '2026-10-03T12:00z',
  '2026-10-03T12Z',
  '2026-10-03T24:00Z',
  '2026-10-03T12:60Z',
  '2026-10-03T12:00:60Z',
  '2026-10-03T12:00+0300',
  '2026-10-03T12:00+24:00',
  '2026-02-29T12:00Z',
  '2026-04-31T12:00Z',
  '2026-13-01T12:00Z',
  '2026-00-01T12:00Z',
  '2026-1-1T12:00Z',
  ' 2026-10-03T12:00Z',
  'tomorrow',
  '',
])('refuses %j as a time', (text) => {
  expect(() => parseTime(text)).toThrow(`--at must be a time with its zone, such as`)
})

it('publishes at whole minutes', () => {
  expect(parseDueTime('2026-10-03T12:00:00Z')).toBe(noon)
  expect(() => parseDueTime('2026-10-03T12:00:01Z')).toThrow('--at must be a whole minute')
})

it.each([
  ['30m', noon - 1800],
  ['24h', noon - 86_400],
  ['7d', noon - 7 * 86_400],
  ['0', noon],
  ['2026-10-03', noon - 12 * 3600],
])('reads the past %s', (text, seconds) => {
  expect(parsePast(text, noon)).toBe(seconds)
})

it.each(['7', '7w', '2026-02-30', '2026-10-3', '-1d', ''])('refuses %j as the past', (text) => {
  expect(() => parsePast(text, noon)).toThrow('--since must be a duration such as 7d')
})
