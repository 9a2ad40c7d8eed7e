import { afterEach, expect, it, vi } from 'vitest'
import {
  formatLocalTime,
  parseDueTime,
  parsePast,
  parsePastEnd,
  parseAt,
} from '../../../src/ops/shared/time-arguments.ts'

const noon = Date.UTC(2026, 9, 3, 12) / 1000
/** In Nairobi, the next day has begun. */
const evening = noon + 10 * 3600

afterEach(() => {
  vi.unstubAllEnvs()
})

it.each([
  ['2026-10-03T12:00Z', noon],
  ['2026-10-03 12:00:59Z', noon + 59],
  ['2026-10-03T12:00:59.999Z', noon + 59],
  ['2026-10-03T08:30:00-03:30', noon],
  ['2026-10-03 15:00', noon],
  ['2026-10-04', noon + 9 * 3600],
  ['2028-02-29T00:00Z', Date.UTC(2028, 1, 29) / 1000],
  ['today', noon + 9 * 3600],
  ['tomorrow 06:00', noon + 39 * 3600],
  ['yesterday 15:00', noon],
  ['-10h', noon],
  ['+30m', evening + 1800],
])('reads the time %s', (text, seconds) => {
  expect(parseAt(text, evening)).toBe(seconds)
  expect(parsePast(text, evening)).toBe(seconds)
})

it.each([
  '2026-10-03t12:00Z',
  '2026-10-03T12Z',
  '2026-10-03T24:00Z',
  '2026-10-03T12:60Z',
  '2026-10-03T12:00+0300',
  '2026-02-29T12:00Z',
  '2026-13-01',
  '2026-1-1',
  ' 2026-10-03',
  'tomorrow6:00',
  '7d',
  '+7w',
  'now',
  '',
])('refuses %j as a time', (text) => {
  expect(() => parseAt(text, noon)).toThrow('--at must be a time such as')
})

it('refuses a time beyond ten years, which is a typing mistake', () => {
  expect(parseAt('2036-10-03T12:00Z', noon)).toBe(Date.UTC(2036, 9, 3, 12) / 1000)
  expect(() => parseAt('2062-10-03', noon)).toThrow('--at must be at most ten years ahead; it is "2062-10-03".')
  expect(() => parseDueTime('+3700d', noon)).toThrow('--at must be at most ten years ahead')
})

it('publishes at whole minutes', () => {
  expect(parseDueTime('2026-10-03T12:00:00Z', noon)).toBe(noon)
  expect(parseDueTime('+1h', noon + 1)).toBe(noon + 3660)
})

it('answers in the zone of the operators and in UTC, also where the clocks change', () => {
  expect(formatLocalTime(noon)).toBe('2026-10-03 15:00 in Africa/Nairobi (2026-10-03T12:00:00Z)')
  vi.stubEnv('OPS_TIME_ZONE', 'Europe/London')
  expect(parseAt('2027-01-15 12:00', noon)).toBe(Date.UTC(2027, 0, 15, 12) / 1000)
  expect(parseAt('2027-07-15 12:00', noon)).toBe(Date.UTC(2027, 6, 15, 11) / 1000)
  vi.stubEnv('OPS_TIME_ZONE', 'Nairobi')
  expect(() => formatLocalTime(noon)).toThrow(
    'OPS_TIME_ZONE must be a time zone, such as Africa/Nairobi; it is "Nairobi".',
  )
})

it.each([
  ['America/New_York', '2027-03-14 06:00', '2027-03-14T10:00Z'],
  ['America/New_York', '2027-03-14 01:59', '2027-03-14T06:59Z'],
  ['America/New_York', '2027-11-07 06:00', '2027-11-07T11:00Z'],
  ['America/New_York', '2027-11-07', '2027-11-07T04:00Z'],
  ['Europe/London', '2027-03-28 00:30', '2027-03-28T00:30Z'],
  ['Europe/London', '2027-03-28 02:00', '2027-03-28T01:00Z'],
  // Clocks skip it.
  ['Europe/London', '2027-03-28 01:30', '2027-03-28T01:30Z'],
  // Clocks show it twice.
  ['Europe/London', '2027-10-31 01:30', '2027-10-31T00:30Z'],
  // A day that begins at 01:00.
  ['Africa/Cairo', '2027-04-30', '2027-04-29T22:00Z'],
  ['Pacific/Apia', '2026-12-01 06:00', '2026-11-30T17:00Z'],
])('where the clocks change, in %s, %s is %s', (zone, text, time) => {
  vi.stubEnv('OPS_TIME_ZONE', zone)
  expect(parseAt(text, noon)).toBe(Date.parse(time) / 1000)
})

it('knows tomorrow where a day has 23 hours', () => {
  vi.stubEnv('OPS_TIME_ZONE', 'Europe/London')
  const lateEvening = Date.UTC(2027, 2, 27, 23, 30) / 1000
  expect(parseAt('tomorrow 06:00', lateEvening)).toBe(Date.UTC(2027, 2, 28, 5) / 1000)
})

it.each([
  ['30m', noon - 1800],
  ['7d', noon - 7 * 86_400],
  ['0', noon],
])('reads the past %s', (text, seconds) => {
  expect(parsePast(text, noon)).toBe(seconds)
})

it.each([
  ['2026-10-03', noon + 9 * 3600 - 1],
  ['yesterday', noon - 15 * 3600 - 1],
  ['2026-10-03 12:00Z', noon],
  ['7d', noon - 7 * 86_400],
])('reads the end %s, which a day is part of', (text, seconds) => {
  expect(parsePastEnd(text, noon)).toBe(seconds)
})

it.each(['7', '7w', '2026-02-30', '2026-10-3', ''])('refuses %j as the past', (text) => {
  expect(() => parsePast(text, noon)).toThrow('--since must be a duration such as 7d')
})
