// What `ops watch` asks the dataset of http/usage.ts, and what an answer means. ONCALL.md explains each alert.
import { availabilityDays, availabilityTargetPercent, freshnessSeconds } from '../../api/promises.ts'
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
  judge: (rows: readonly Row[]) => Finding | Finding[]
}

const tokenRoute = '/api/v3/partners/auth'
const listRoute = '/api/v3/partners/:shortName/plans'
const promised = `(blob1 = '${tokenRoute}' OR blob1 = '${listRoute}')`
const failed = "(blob2 = '500' OR blob2 = '503')"
const since = (minutes: number) => `timestamp > NOW() - INTERVAL '${minutes}' MINUTE`
const p99 = 'quantileExactWeighted(0.99)(double1, _sample_interval) AS p99_ms'

/** For alerts about what happens now. */
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
const maxRefusals = 100
const maxShareFromD1 = { percent: 20, lists: 100 }
const newVersion = { percent: 1, factor: 2 }
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
  versions: {
    rule: `In an hour, over ${newVersion.percent} % of the requests to the newest version fail with 500 or 503, and that share is over ${newVersion.factor} times the share of the older versions.`,
    write: (dataset) =>
      `SELECT blob7 AS version, SUM(_sample_interval) AS requests, sumIf(_sample_interval, ${failed}) AS failures, ${p99}, MIN(timestamp) AS since FROM ${dataset} WHERE ${since(60)} AND blob7 != '' GROUP BY version ORDER BY since`,
    judge: judgeVersions,
  },
  'stale-lists': {
    rule: `In ${recentMinutes} minutes, a list is older than ${maxAgeSeconds} s. Partners are promised ${freshnessSeconds} s.`,
    write: (dataset) =>
      `SELECT blob4 AS tier, SUM(_sample_interval) AS lists, MAX(double2) AS oldest_seconds FROM ${dataset} WHERE ${since(recentMinutes)} AND double2 > ${maxAgeSeconds} GROUP BY tier`,
    judge: (rows) =>
      rows.length === 0
        ? ok(`No list was older than ${maxAgeSeconds} s.`)
        : rows.map((row) =>
            problem(
              `${formatCount(row, 'lists')} lists from ${String(row['tier'])} were up to ${formatCount(row, 'oldest_seconds')} s old.`,
            ),
          ),
  },
  'rate-limited': {
    rule: `In ${recentMinutes} minutes, over ${maxRefusals} token requests of one partner, or without a known partner, are refused with 429.`,
    write: (dataset) =>
      `SELECT index1 AS partner, SUM(_sample_interval) AS refusals FROM ${dataset} WHERE ${since(recentMinutes)} AND blob5 = 'rate_limited' GROUP BY partner HAVING refusals > ${maxRefusals}`,
    judge: (rows) =>
      rows.length === 0
        ? ok(`No partner had more than ${maxRefusals} refusals.`)
        : rows.map((row) =>
            problem(
              `${formatCount(row, 'refusals')} token requests of ${String(row['partner']) || 'no known partner'} were refused.`,
            ),
          ),
  },
  'kv-failures': {
    rule: `In ${recentMinutes} minutes, more than ${maxShareFromD1.percent} % of more than ${maxShareFromD1.lists} lists come from D1.`,
    write: (dataset) =>
      `SELECT blob1 AS route, sumIf(_sample_interval, blob4 = 'd1') AS from_d1, SUM(_sample_interval) AS lists FROM ${dataset} WHERE ${since(recentMinutes)} AND blob4 != '' GROUP BY route HAVING lists > ${maxShareFromD1.lists}`,
    judge: ([row]) => {
      if (row === undefined) return ok(`Not more than ${maxShareFromD1.lists} lists, too few to judge.`)
      const percent = (100 * Number(row['from_d1'])) / Number(row['lists'])
      const message = `${formatPercent(percent)} of ${formatCount(row, 'lists')} lists came from D1.`
      return percent > maxShareFromD1.percent ? problem(message) : ok(message)
    },
  },
  traffic: {
    rule: `In ${quietMinutes / 60} hours, there is no request at all.`,
    write: (dataset) => `SELECT SUM(_sample_interval) AS requests FROM ${dataset} WHERE ${since(quietMinutes)}`,
    judge: ([row]) =>
      Number(row?.['requests'] ?? 0) > 0
        ? ok(`${formatCount(row, 'requests')} requests in ${quietMinutes / 60} hours.`)
        : problem(`No request was counted in ${quietMinutes / 60} hours.`),
  },
} as const satisfies Record<string, Alert>

/** Queries for people, which no alert needs. */
const overviews = {
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
  const name = row['route'] === tokenRoute ? 'Tokens' : 'Lists'
  const count = (minutes: number) => ({
    requests: Number(row[`requests_${minutes}`]),
    failures: Number(row[`failures_${minutes}`]),
  })
  const describe = (minutes: number) => {
    const { requests, failures } = count(minutes)
    return `${failures} of ${requests} in ${formatMinutes(minutes)}`
  }
  const burns = (factor: number, minutes: number) => {
    const { requests, failures } = count(minutes)
    return failures * 100 > factor * budgetPercent * requests
  }
  const burning = burnRates.find(
    ({ factor, longMinutes, shortMinutes }) => burns(factor, longMinutes) && burns(factor, shortMinutes),
  )
  if (burning === undefined) return ok(`${name}: ${describe(Math.max(...windows))} failed.`)
  const { factor, longMinutes, shortMinutes } = burning
  const found = `${name}: ${describe(longMinutes)} and ${describe(shortMinutes)} failed`
  return count(longMinutes).failures < minFailures
    ? warning(`${found}: too few to judge.`)
    : problem(`${found}, over ${factor} times as many as the target allows.`)
}

function judgeVersions(rows: readonly Row[]): Finding {
  const newest = rows.at(-1)
  if (newest === undefined) return ok('No version answered in an hour.')
  const sum = (of: readonly Row[], field: string) => of.reduce((total, row) => total + Number(row[field]), 0)
  const computePercent = (of: readonly Row[]) => (100 * sum(of, 'failures')) / Math.max(1, sum(of, 'requests'))
  const [now, before] = [computePercent([newest]), computePercent(rows.slice(0, -1))]
  const others = rows.length === 1 ? 'it was the only version' : `${formatPercent(before)} of the versions before`
  const message = `${formatPercent(now)} of ${formatCount(newest, 'requests')} requests to version ${String(newest['version'])} failed in an hour; ${others}.`
  const isWorse = rows.length > 1 && now > newVersion.percent && now > newVersion.factor * before
  return isWorse && Number(newest['failures']) >= minFailures ? problem(message) : ok(message)
}

function formatCount(row: Row | undefined, field: string): string {
  return Number(row?.[field]).toLocaleString('en')
}

function formatPercent(percent: number): string {
  return `${Number(percent.toFixed(percent < 1 ? 2 : 1))} %`
}

function formatMinutes(minutes: number): string {
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`
}
