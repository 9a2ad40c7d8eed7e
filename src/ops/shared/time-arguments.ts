// Parses times that operators type, and formats times for messages, in the time zone of the operators. Whatever uses the zone throws a UserError for a wrong OPS_TIME_ZONE.
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from './user-error.ts'
import { formatIsoTime } from './iso-time.ts'

const daySeconds = 86_400
const dayShifts: Record<string, number> = { yesterday: -1, today: 0, tomorrow: 1 }
const secondsByUnit: Record<string, number> = { s: 1, m: 60, h: 3600, d: daySeconds }
const timePattern =
  /^(today|tomorrow|yesterday|\d{4}-\d\d-\d\d)(?:[ T]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{3})?)?)(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** Reads the time zone of the operators: the zone of times that are typed without a zone. */
function getZone(): string {
  return process.env['OPS_TIME_ZONE'] || 'Africa/Nairobi'
}

/** @throws UserError for a wrong OPS_TIME_ZONE. */
function createFormat(): Intl.DateTimeFormat {
  const timeZone = getZone()
  try {
    // Swedish dates have the form of ISO 8601.
    return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone })
  } catch {
    throw new UserError(`OPS_TIME_ZONE must be a time zone, such as Africa/Nairobi; it is ${abbreviate(timeZone)}.`)
  }
}

/** @returns a text such as `2026-12-01 06:00`, in the zone of the operators. */
function formatWallClock(unixSeconds: number): string {
  return createFormat().format(unixSeconds * 1000)
}

/** @returns a text such as `2026-12-01 06:00 in Africa/Nairobi (2026-12-01T03:00:00Z)`. */
export function formatLocalTime(unixSeconds: number): string {
  return `${formatWallClock(unixSeconds)} in ${getZone()} (${formatIsoTime(unixSeconds)})`
}

/** @returns a cell of a table by its heading, which names the zone: `{ 'time in Africa/Nairobi': '2026-12-01 06:00' }`. */
export function toTimeColumn(unixSeconds: number): Record<string, string> {
  return { [`time in ${getZone()}`]: formatWallClock(unixSeconds) }
}

/** Computes the seconds to add to UTC to get the time in the operators' zone. They change with summer time. */
function computeOffsetSeconds(unixSeconds: number): number {
  const minute = Math.floor(unixSeconds / 60) * 60
  return Date.parse(`${formatWallClock(minute).replace(' ', 'T')}Z`) / 1000 - minute
}

/**
 * Converts a time in the operators' zone to Unix seconds. When clocks are set back, some times occur twice: returns the first. When clocks
 * are set forward from 02:00 to 03:00, 02:30 does not occur: returns 03:30.
 * @param localSeconds the time in the operators' zone, as Unix seconds of the same date and time in UTC.
 */
function toUnixSeconds(localSeconds: number): number {
  // Clocks change at most once in two days. So one of these offsets is right, unless clocks skip the time.
  const withEarlierOffset = localSeconds - computeOffsetSeconds(localSeconds - daySeconds)
  const withLaterOffset = localSeconds - computeOffsetSeconds(localSeconds + daySeconds)
  const showsLocalTime = (seconds: number) => seconds + computeOffsetSeconds(seconds) === localSeconds
  return [withEarlierOffset, withLaterOffset].find(showsLocalTime) ?? withEarlierOffset
}

/** Parses a time such as `+2h` or `tomorrow 06:00`. @returns Unix seconds; undefined for a text that is no time, such as February 30. */
function parseTime(text: string, nowSeconds: number): number | undefined {
  const [, sign, duration = ''] = /^([+-])(.*)$/.exec(text) ?? []
  const seconds = sign === undefined ? undefined : parseDuration(duration)
  if (seconds !== undefined) return sign === '-' ? nowSeconds - seconds : nowSeconds + seconds
  const [, day = '', time, zone] = timePattern.exec(text) ?? []
  const date = resolveDay(day, nowSeconds)
  const midnight = new Date(`${date}T00:00Z`)
  // The date of a text that is no time is empty, so `midnight` is invalid. `Date` turns February 30 into March 2.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(date)) return undefined
  const secondsIfUtc = Math.floor(Date.parse(`${date}T${time ?? '00:00'}${zone ?? 'Z'}`) / 1000)
  return zone === undefined ? toUnixSeconds(secondsIfUtc) : secondsIfUtc
}

/** @param day a date, or a word such as `tomorrow`, in the zone of the operators. @returns a date such as `2026-12-01`; another text unchanged. */
function resolveDay(day: string, nowSeconds: number): string {
  const shift = dayShifts[day]
  if (shift === undefined) return day
  const today = Date.parse(formatWallClock(nowSeconds).slice(0, 10))
  return new Date(today + shift * daySeconds * 1000).toISOString().slice(0, 10)
}

/** A time more than ten years ahead is a typing mistake. */
const maxAheadSeconds = 10 * 366 * daySeconds

/** Parses `--at`. @returns Unix seconds. @throws UserError unless the text is a time, at most ten years ahead. */
export function parseAt(text: string, nowSeconds: number): number {
  const seconds = parseTime(text, nowSeconds)
  if (seconds === undefined) {
    throw new UserError(
      `--at must be a time such as "tomorrow 06:00", 2026-12-01, "2026-12-01 06:00", 2026-12-01T06:00+03:00 or +2h; it is ${abbreviate(text)}.`,
    )
  }
  if (seconds <= nowSeconds + maxAheadSeconds) return seconds
  throw new UserError(`--at must be at most ten years ahead; it is ${abbreviate(text)}.`)
}

/** Parses the `--at` of a publication. Rounds up to a whole minute, because the schedule runs once a minute. @returns Unix seconds. @throws as `parseAt`. */
export function parseDueTime(text: string, nowSeconds: number): number {
  return Math.ceil(parseAt(text, nowSeconds) / 60) * 60
}

/** Parses a duration such as `30m`, `24h`, `7d` or `0`. @returns seconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([0-9]{1,7})([smhd]?)$/.exec(text) ?? []
  // Only 0 needs no unit. For a text that is no duration, `count` is undefined.
  const unitSeconds = secondsByUnit[unit]
  if (unitSeconds === undefined) return Number(count) === 0 ? 0 : undefined
  return Number(count) * unitSeconds
}

/** Parses `--since`, or another flag: a duration before now, or a time. @returns Unix seconds. @throws UserError for any other text. */
export function parsePast(text: string, nowSeconds: number, flag = '--since'): number {
  const duration = parseDuration(text)
  const seconds = duration === undefined ? parseTime(text, nowSeconds) : nowSeconds - duration
  if (seconds !== undefined) return seconds
  throw new UserError(
    `${flag} must be a duration such as 7d, or a time such as yesterday, 2026-10-03 or 2026-10-03T12:00+03:00; it is ${abbreviate(text)}.`,
  )
}

/** Parses `--until`: a duration before now, or a time; a date means the end of its day. @returns Unix seconds. @throws as `parsePast`. */
export function parsePastEnd(text: string, nowSeconds: number): number {
  // `parseTime` returns undefined if the text has a time of day already.
  return parseTime(`${text} 23:59:59`, nowSeconds) ?? parsePast(text, nowSeconds, '--until')
}

/** Says when a pending publication will be published. @param publication `dueAt` has Unix seconds, or null without a time. */
export function describeDue({ state, dueAt }: { state: string; dueAt: number | null }): string {
  if (dueAt === null) return 'once it is approved'
  const time = formatLocalTime(dueAt)
  return state === 'waiting' ? `once it is approved, not before ${time}` : `at ${time}`
}
