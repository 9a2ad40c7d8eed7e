// Writes the queries of `watch`, and evaluates their answers. The queries read the dataset to which
// src/worker/http/request-log.ts adds a data point for each request: blob1 is the route, blob2 the status, blob4 the cache that answered,
// blob5 the error, blob6 the reason, double1 the milliseconds, double2 the age of a list in seconds, index1 the partner. Cloudflare may
// store only a sample: a row stands for `_sample_interval` requests. ONCALL.md explains each alert.
import { availabilityDays, availabilityTargetPercent, freshnessSeconds } from '../../../api/promises.ts'
import { answersByRoute, scheduleName } from '../../../api/routes.ts'
import { UserError } from '../../shared/user-error.ts'
import { ok, problem, warning, type CheckResult } from './health-check.ts'

/** A row of the answer to a query. Cloudflare returns numbers as strings. */
type Row = Record<string, unknown>

/** Writes a query in the SQL of Workers Analytics Engine. @param dataset the name of its table. */
type WriteQuery = (dataset: string) => string

export interface Alert {
  writeQuery: WriteQuery
  /** Sentences for ONCALL.md that say when the alert is a problem. */
  rule: string
  /**
   * @param rows the answer to the query.
   * @param smokePartner the short name of the partner of the smoke test, which is no customer.
   * @throws UserError when a row lacks a count.
   */
  evaluate: (rows: readonly Row[], smokePartner: string) => CheckResult | CheckResult[]
}

// Conditions and columns in SQL.
const isPromised = `(${Object.keys(answersByRoute)
  .map((route) => `blob1 = '${route}'`)
  .join(' OR ')})`
const hasFailed = "(blob2 = '500' OR blob2 = '503')"
const isWithin = (minutes: number) => `timestamp > NOW() - INTERVAL '${minutes}' MINUTE`

const isRequest = `blob1 != '${scheduleName}'`

const recentMinutes = 15

/**
 * The alert availability needs too many failures in both windows. In the long window, a short failure does not count much; with the short window,
 * the alert ends soon after the failures end (Site Reliability Workbook, chapter 5).
 */
const [longMinutes, shortMinutes] = [360, 30]
/** The target allows this percentage of failures, and the alert six times as many. */
const budgetPercent = Number((100 - availabilityTargetPercent).toFixed(6))
const maxFailedPercent = Number((6 * budgetPercent).toFixed(6))

/** Fewer failures are too few to judge: one of three requests is no outage. */
const minFailures = 5

const maxAgeSeconds = freshnessSeconds + 10
/** While KV works, D1 loads only lists that nobody has requested before. With few requests, these may be almost all lists. */
const maxPercentFromD1 = 97
const maxUnjudgedLists = 50
/** The alert traffic is a problem after this time without a request. */
const quietMinutes = 180
/** The alert schedule is a problem after this time without a run. */
const maxSilentMinutes = 20

const scheduleAdvice = `See "The schedule doesn't run" in src/worker/ONCALL.md.`

export const alerts = {
  availability: {
    rule: `Over ${maxFailedPercent} % of the requests for tokens, or for lists, fail with 500 or 503 in the last ${longMinutes / 60} h and also in the last ${shortMinutes} min. The target allows ${budgetPercent} %. Fewer than ${minFailures} failures are a warning.`,
    writeQuery: (dataset) =>
      `SELECT blob1 AS route, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${hasFailed}) AS failures, sumIf(_sample_interval, ${isWithin(shortMinutes)}) AS recent_requests, sumIf(_sample_interval, ${isWithin(shortMinutes)} AND ${hasFailed}) AS recent_failures FROM ${dataset} WHERE ${isWithin(longMinutes)} AND ${isPromised} GROUP BY route`,
    evaluate: (rows) =>
      rows.length === 0
        ? ok(`No request for a token or a list in ${longMinutes / 60} h.`)
        : rows.map(evaluateAvailability),
  },
  'stale-lists': {
    rule: `In ${recentMinutes} minutes, at least ${minFailures} lists are older than ${maxAgeSeconds} s. Fewer are a warning. Partners are promised ${freshnessSeconds} s.`,
    writeQuery: (dataset) =>
      `SELECT blob4 AS tier, SUM(_sample_interval) AS lists, MAX(double2) AS oldest_seconds FROM ${dataset} WHERE ${isWithin(recentMinutes)} AND double2 > ${maxAgeSeconds} GROUP BY tier`,
    evaluate: (rows) =>
      rows.length === 0
        ? ok(`No list was older than ${maxAgeSeconds} s in the last ${recentMinutes} min.`)
        : rows.map((row) => {
            const [lists, oldest] = [parseNumber(row, 'lists'), parseNumber(row, 'oldest_seconds')]
            const message = `Lists from ${String(row['tier'])} over ${maxAgeSeconds} s old: ${lists}. Oldest: ${oldest} s.`
            return sumCounts(rows, 'lists') < minFailures ? warning(message) : problem(message)
          }),
  },
  'kv-failures': {
    rule: `In an hour, over ${maxPercentFromD1} % of the lists that are not in memory come from D1 instead of KV. Up to ${maxUnjudgedLists} lists from D1 and KV are too few to judge.`,
    writeQuery: (dataset) =>
      `SELECT blob4 AS tier, SUM(_sample_interval) AS lists FROM ${dataset} WHERE ${isWithin(60)} AND (blob4 = 'kv' OR blob4 = 'd1-miss') GROUP BY tier`,
    evaluate: (rows) => {
      const lists = sumCounts(rows, 'lists')
      const rowsOfD1 = rows.filter((row) => row['tier'] === 'd1-miss')
      const listsFromD1 = sumCounts(rowsOfD1, 'lists')
      const message = `${listsFromD1} of ${lists} lists that were not in memory came from D1.`
      const isTooMany = listsFromD1 * 100 > maxPercentFromD1 * lists
      return isTooMany && lists > maxUnjudgedLists ? problem(message) : ok(message)
    },
  },
  traffic: {
    rule: `In ${quietMinutes / 60} hours, there is no request at all. A day without a real partner's request is a warning.`,
    writeQuery: (dataset) =>
      `SELECT index1 AS partner, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${isWithin(quietMinutes)}) AS recent FROM ${dataset} WHERE ${isWithin(1440)} AND ${isRequest} GROUP BY partner`,
    evaluate: (rows, smokePartner) => {
      const recentCount = sumCounts(rows, 'recent')
      if (recentCount === 0) return problem(`No request was counted in ${quietMinutes / 60} hours.`)
      // A request that was refused may have no partner.
      const customers = rows.filter((row) => !['', smokePartner].includes(String(row['partner'])))
      const message = `${recentCount} ${recentCount === 1 ? 'request' : 'requests'} in ${quietMinutes / 60} hours. Partners with requests in a day: ${customers.length}.`
      return customers.length === 0 ? warning(message) : ok(message)
    },
  },
  schedule: {
    rule: `The last run of the schedule is over ${maxSilentMinutes} minutes old. A newer one that failed, or none at all, is a warning.`,
    writeQuery: (dataset) =>
      `SELECT blob2 AS result, MAX(timestamp) AS last_run, toUnixTimestamp(NOW()) - toUnixTimestamp(MAX(timestamp)) AS seconds_ago FROM ${dataset} WHERE blob1 = '${scheduleName}' GROUP BY result`,
    evaluate: (rows) => {
      // There is a row for the last run that succeeded, and a row for the last run that failed.
      const runs = rows.map((row) => ({ row, secondsAgo: parseNumber(row, 'seconds_ago') }))
      const [lastRun] = runs.toSorted((a, b) => a.secondsAgo - b.secondsAgo)
      if (lastRun === undefined)
        return warning(`The schedule never ran. After a deploy, it starts within 15 minutes. ${scheduleAdvice}`)
      const isFailed = lastRun.row['result'] === 'failed'
      const message = `The schedule last ran at ${String(lastRun.row['last_run']).replace(' ', 'T')}Z${isFailed ? ', and failed' : ''}.`
      if (lastRun.secondsAgo > maxSilentMinutes * 60) return problem(`${message} ${scheduleAdvice}`)
      return isFailed ? warning(`${message} ${scheduleAdvice}`) : ok(message)
    },
  },
} as const satisfies Record<string, Alert>

/** Queries without an alert, whose answers people read. */
const overviews: Readonly<Record<string, WriteQuery>> = {
  target: (dataset) =>
    `SELECT blob1 AS route, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${hasFailed}) AS failures, 100 - 100.0 * sumIf(_sample_interval, ${hasFailed}) / SUM(_sample_interval) AS succeeded_percent FROM ${dataset} WHERE ${isWithin(availabilityDays * 1440)} AND ${isPromised} GROUP BY route ORDER BY route`,
  partners: (dataset) =>
    `SELECT index1 AS partner, blob1 AS route, SUM(_sample_interval) AS requests, quantileExactWeighted(0.99)(double1, _sample_interval) AS p99_ms FROM ${dataset} WHERE ${isWithin(1440)} AND ${isRequest} GROUP BY partner, route ORDER BY requests DESC`,
  refusals: (dataset) =>
    `SELECT blob5 AS error, blob6 AS reason, index1 AS partner, SUM(_sample_interval) AS refusals FROM ${dataset} WHERE ${isWithin(1440)} AND blob5 != '' GROUP BY error, reason, partner ORDER BY refusals DESC`,
}

export const usageQueries: ReadonlyMap<string, WriteQuery> = new Map([
  ...Object.entries(alerts).map(([name, { writeQuery }]) => [name, writeQuery] as const),
  ...Object.entries(overviews),
])

/** @throws UserError when a column with a count is missing. */
function evaluateAvailability(row: Row): CheckResult {
  const [requests, failures] = [parseNumber(row, 'requests'), parseNumber(row, 'failures')]
  const [recentRequests, recentFailures] = [parseNumber(row, 'recent_requests'), parseNumber(row, 'recent_failures')]
  const summary = `${answersByRoute[String(row['route'])]}: ${failures} of ${requests} in ${longMinutes / 60} h`
  const isOverLimit = failures * 100 > maxFailedPercent * requests
  const isStillOverLimit = recentFailures * 100 > maxFailedPercent * recentRequests
  if (!isOverLimit || !isStillOverLimit) return ok(`${summary} failed.`)
  const message = `${summary} and ${recentFailures} of ${recentRequests} in ${shortMinutes} min failed.`
  return failures < minFailures ? warning(message) : problem(message)
}

/** @throws UserError when the column is missing: its NaN is never over a limit, so the alert would always be `ok`. */
function parseNumber(row: Row, column: string): number {
  const count = Number.parseFloat(String(row[column]))
  if (Number.isFinite(count)) return count
  throw new UserError(`Cloudflare's answer lacks the number "${column}". To see the rows, run watch with --query.`)
}

/** @throws UserError when a row lacks the column. */
function sumCounts(rows: readonly Row[], column: string): number {
  return rows.reduce((sum, row) => sum + parseNumber(row, column), 0)
}
