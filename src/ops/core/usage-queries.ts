// What `ops watch` asks the dataset of http/request-log.ts, and what an answer means. ONCALL.md explains each alert.
import { availabilityDays, availabilityTargetPercent, freshnessSeconds } from '../../api/promises.ts'
import { answersByRoute } from '../../api/routes.ts'
import { UserError } from '../shared/user-error.ts'
import { ok, problem, warning, type Finding } from './health-check.ts'

/** Counts are texts. */
type Row = Record<string, unknown>

export interface UsageQuery {
  /** SQL of Workers Analytics Engine. */
  write: (dataset: string) => string
}

export interface Alert extends UsageQuery {
  /** When it needs somebody. The numbers were set without real traffic. */
  rule: string
  /**
   * @param smokePartner the short name of the partner that is no customer.
   * @throws UserError when a row lacks a count.
   */
  judge: (rows: readonly Row[], smokePartner: string) => Finding | Finding[]
}

const promised = `(${Object.keys(answersByRoute)
  .map((route) => `blob1 = '${route}'`)
  .join(' OR ')})`
const failed = "(blob2 = '500' OR blob2 = '503')"
const since = (minutes: number) => `timestamp > NOW() - INTERVAL '${minutes}' MINUTE`
const p99 = 'quantileExactWeighted(0.99)(double1, _sample_interval) AS p99_ms'

/** For what happens now. */
const recentMinutes = 15

/**
 * How many times faster than allowed failures use up the error budget, in a long window, and in a short one that ends soon after the
 * failures do (Site Reliability Workbook, chapter 5).
 */
const burnRates = [
  { factor: 14.4, longMinutes: 60, shortMinutes: 5 },
  { factor: 6, longMinutes: 360, shortMinutes: 30 },
]
const windows = burnRates.flatMap(({ longMinutes, shortMinutes }) => [longMinutes, shortMinutes])
const budgetPercent = Number((100 - availabilityTargetPercent).toFixed(6))

/** One failure of three requests is no outage. */
const minFailures = 5

const maxAgeSeconds = freshnessSeconds + 10
/** A list that neither memory nor KV has comes from D1, also when KV works: after a change, and the first with some filters. */
const maxShareFromD1 = { percent: 97, lists: 50 }
const quietMinutes = 180

export const alerts = {
  availability: {
    rule: `Of the requests for tokens, or of those for lists, too many fail with 500 or 503: ${burnRates.map(describeBurnRate).join('; or ')}. The target allows ${budgetPercent} %. Fewer than ${minFailures} failures are too few to judge.`,
    write: (dataset) =>
      `SELECT blob1 AS route, ${windows.map((minutes) => `sumIf(_sample_interval, ${since(minutes)}) AS requests_${minutes}, sumIf(_sample_interval, ${since(minutes)} AND ${failed}) AS failures_${minutes}`).join(', ')} FROM ${dataset} WHERE ${since(Math.max(...windows))} AND ${promised} GROUP BY route`,
    judge: (rows) =>
      rows.length === 0
        ? ok(`No request for a token or a list in ${formatMinutes(Math.max(...windows))}.`)
        : rows.map(judgeAvailability),
  },
  'stale-lists': {
    rule: `In ${recentMinutes} minutes, at least ${minFailures} lists are older than ${maxAgeSeconds} s. Partners are promised ${freshnessSeconds} s.`,
    write: (dataset) =>
      `SELECT blob4 AS tier, SUM(_sample_interval) AS lists, MAX(double2) AS oldest_seconds FROM ${dataset} WHERE ${since(recentMinutes)} AND double2 > ${maxAgeSeconds} GROUP BY tier`,
    judge: (rows) =>
      rows.length === 0
        ? ok(`No list was older than ${maxAgeSeconds} s.`)
        : rows.map((row) => {
            const [lists, oldest] = [formatCount(row, 'lists'), formatCount(row, 'oldest_seconds')]
            const message = `Lists from ${String(row['tier'])} that were up to ${oldest} s old: ${lists}.`
            return sumCounts(rows, 'lists') < minFailures ? warning(message) : problem(message)
          }),
  },
  'kv-failures': {
    rule: `In an hour, over ${maxShareFromD1.percent} % of the lists that memory does not have come from D1 instead of KV. Up to ${maxShareFromD1.lists} such lists are too few to judge.`,
    write: (dataset) =>
      `SELECT blob4 AS tier, SUM(_sample_interval) AS lists FROM ${dataset} WHERE ${since(60)} AND (blob4 = 'kv' OR blob4 = 'd1') GROUP BY tier`,
    judge: (rows) => {
      const lists = sumCounts(rows, 'lists')
      const rowsOfD1 = rows.filter((row) => row['tier'] === 'd1')
      const fromD1 = sumCounts(rowsOfD1, 'lists')
      const message = `${fromD1} of ${lists} lists that memory did not have came from D1.`
      const isTooMany = fromD1 * 100 > maxShareFromD1.percent * lists
      return isTooMany && lists > maxShareFromD1.lists ? problem(message) : ok(message)
    },
  },
  traffic: {
    rule: `In ${quietMinutes / 60} hours, there is no request at all. No partner's request in a day is a warning.`,
    write: (dataset) =>
      `SELECT index1 AS partner, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${since(quietMinutes)}) AS recent FROM ${dataset} WHERE ${since(1440)} GROUP BY partner`,
    judge: (rows, smokePartner) => {
      const recent = sumCounts(rows, 'recent')
      if (recent === 0) return problem(`No request was counted in ${quietMinutes / 60} hours.`)
      const partners = rows.filter((row) => !['', smokePartner].includes(String(row['partner']))).length
      const message = `${recent} requests in ${quietMinutes / 60} hours. Partners with requests in a day: ${partners}.`
      return partners === 0 ? warning(message) : ok(message)
    },
  },
} as const satisfies Record<string, Alert>

/** Queries for people, which no alert needs. */
const overviews = {
  versions: {
    write: (dataset) =>
      `SELECT blob7 AS version, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${failed}) AS failures, ${p99} FROM ${dataset} WHERE ${since(60)} AND blob7 != '' GROUP BY version ORDER BY requests DESC`,
  },
  'rate-limited': {
    write: (dataset) =>
      `SELECT blob6 AS reason, SUM(_sample_interval) AS refusals FROM ${dataset} WHERE ${since(recentMinutes)} AND blob5 = 'rate_limited' GROUP BY reason`,
  },
  target: {
    write: (dataset) =>
      `SELECT blob1 AS route, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${failed}) AS failures, 100 - 100.0 * sumIf(_sample_interval, ${failed}) / SUM(_sample_interval) AS succeeded_percent FROM ${dataset} WHERE ${since(availabilityDays * 1440)} AND ${promised} GROUP BY route ORDER BY route`,
  },
  partners: {
    write: (dataset) =>
      `SELECT index1 AS partner, blob1 AS route, SUM(_sample_interval) AS requests, ${p99} FROM ${dataset} WHERE ${since(1440)} GROUP BY partner, route ORDER BY requests DESC`,
  },
  refusals: {
    write: (dataset) =>
      `SELECT blob5 AS error, blob6 AS reason, index1 AS partner, SUM(_sample_interval) AS refusals FROM ${dataset} WHERE ${since(1440)} AND blob5 != '' GROUP BY error, reason, partner ORDER BY refusals DESC`,
  },
} as const satisfies Record<string, UsageQuery>

export const usageQueries: ReadonlyMap<string, UsageQuery> = new Map(Object.entries({ ...alerts, ...overviews }))

function describeBurnRate({ factor, longMinutes, shortMinutes }: (typeof burnRates)[number]): string {
  const percent = Number((factor * budgetPercent).toFixed(6))
  return `over ${percent} % in the last ${formatMinutes(longMinutes)} and also in the last ${formatMinutes(shortMinutes)}`
}

function judgeAvailability(row: Row): Finding {
  const name = answersByRoute[String(row['route'])]
  const count = (minutes: number) => ({
    requests: readCount(row, `requests_${minutes}`),
    failures: readCount(row, `failures_${minutes}`),
  })
  // What follows skips some: a missing column must not depend on the others.
  windows.forEach(count)
  const describe = (minutes: number) => {
    const { requests, failures } = count(minutes)
    return `${failures} of ${requests} in ${formatMinutes(minutes)}`
  }
  const burns = (factor: number, minutes: number) => {
    const { requests, failures } = count(minutes)
    return failures * 100 > factor * budgetPercent * requests
  }
  const burning = burnRates.filter(
    ({ factor, longMinutes, shortMinutes }) => burns(factor, longMinutes) && burns(factor, shortMinutes),
  )
  const isClear = (rate: (typeof burnRates)[number]) => count(rate.longMinutes).failures >= minFailures
  const worst = burning.find(isClear) ?? burning[0]
  if (worst === undefined) return ok(`${name}: ${describe(Math.max(...windows))} failed.`)
  const { factor, longMinutes, shortMinutes } = worst
  const found = `${name}: ${describe(longMinutes)} and ${describe(shortMinutes)} failed`
  return isClear(worst)
    ? problem(`${found}, over ${factor} times as many as the target allows.`)
    : warning(`${found}: too few to judge.`)
}

/** A missing column would be NaN, which is over no limit. */
function readCount(row: Row, field: string): number {
  const count = Number.parseFloat(String(row[field]))
  if (!Number.isFinite(count)) throw new UserError(`Cloudflare's answer lacks the count "${field}".`)
  return count
}

function sumCounts(rows: readonly Row[], field: string): number {
  return rows.reduce((sum, row) => sum + readCount(row, field), 0)
}

function formatCount(row: Row, field: string): string {
  return readCount(row, field).toLocaleString('en')
}

function formatMinutes(minutes: number): string {
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`
}
