// Times that operators type.
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

const isoDate = /^\d{4}-\d\d-\d\d$/
const clockTime = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** @returns Unix seconds of 00:00 UTC; undefined when it is no date, such as February 30. */
function parseIsoDate(text: string): number | undefined {
  const date = new Date(isoDate.test(text) ? `${text}T00:00Z` : Number.NaN)
  const isDate = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
  return isDate ? date.getTime() / 1000 : undefined
}

/** Parses an ISO 8601 time with a zone. @returns Unix seconds; undefined when it is none. */
function parseIsoTime(text: string): number | undefined {
  const isTime = parseIsoDate(text.slice(0, 10)) !== undefined && text[10] === 'T' && clockTime.test(text.slice(11))
  return isTime ? Math.floor(Date.parse(text) / 1000) : undefined
}

/** @returns Unix seconds of `--at`. @throws UserError unless it is a time with a zone. */
export function parseTime(text: string): number {
  const seconds = parseIsoTime(text)
  if (seconds !== undefined) return seconds
  throw new UserError(
    `--at must be a time with its zone, such as 2026-12-01T06:00+03:00 or 2026-12-01T03:00:00Z; it is ${abbreviate(text)}.`,
  )
}

/**
 * Parses the time of a publication.
 * @returns Unix seconds of a whole minute: the schedule runs once a minute.
 */
export function parseDueTime(text: string): number {
  const seconds = parseTime(text)
  if (seconds % 60 === 0) return seconds
  throw new UserError(`--at must be a whole minute, such as 2026-12-01T06:00+03:00; it is ${abbreviate(text)}.`)
}

const secondsByUnit: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses `30m`, `24h` or `7d`. @returns seconds; undefined when it is no duration. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([0-9]{1,7})([smhd]?)$/.exec(text) ?? []
  const seconds = Number(count) * (secondsByUnit[unit] ?? (Number(count) === 0 ? 1 : Number.NaN))
  return Number.isNaN(seconds) ? undefined : seconds
}

/**
 * Parses `--since`: a duration before now, a date in UTC, or a time with its zone.
 * @returns Unix seconds.
 */
export function parsePast(text: string, nowSeconds: number): number {
  const duration = parseDuration(text)
  if (duration !== undefined) return nowSeconds - duration
  const seconds = parseIsoDate(text) ?? parseIsoTime(text)
  if (seconds !== undefined) return seconds
  throw new UserError(
    `--since must be a duration such as 7d, a date such as 2026-10-03, or a time with its zone such as 2026-10-03T12:00+03:00; it is ${abbreviate(text)}.`,
  )
}
