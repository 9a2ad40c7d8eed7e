// How a partner uses the API, from the data points of http/usage.ts.
import type { Store } from '../store/store.ts'
import type { QueryUsage } from '../store/usage-dataset.ts'
import { findPartner } from './partner-accounts.ts'

export interface PartnerUsage {
  tokens: number
  lists: number
  /** The lists that were answered with 304. */
  unchangedLists: number
  /** The number of refusals by error code. */
  errors: Record<string, number>
  /** ISO 8601; null when there was none. */
  lastRequestAt: string | null
  lastTokenAt: string | null
}

/**
 * Counts the requests that were recognized as the partner's. A refused token request belongs to nobody.
 * @throws UserError when there is no such partner.
 */
export async function readPartnerUsage(
  store: Store,
  query: QueryUsage,
  shortName: string,
  sinceSeconds: number,
): Promise<PartnerUsage> {
  // A name that exists has only letters, digits and hyphens.
  await findPartner(store, shortName)
  const rows = await query(
    'blob1 AS route, blob2 AS status, blob5 AS error, SUM(_sample_interval) AS requests, MAX(timestamp) AS latest',
    `index1 = '${shortName}' AND timestamp > toDateTime(${sinceSeconds}) GROUP BY route, status, error`,
  )
  return summarize(rows.map(readRow))
}

interface UsageRow {
  isToken: boolean
  status: string
  error: string
  requests: number
  latest: string
}

/** Counts are texts, and times have no zone: they are in UTC. */
function readRow(row: Record<string, unknown>): UsageRow {
  return {
    isToken: String(row['route']).endsWith('/auth'),
    status: String(row['status']),
    error: String(row['error']),
    requests: Number(row['requests']),
    latest: `${String(row['latest']).replace(' ', 'T')}Z`,
  }
}

function summarize(rows: readonly UsageRow[]): PartnerUsage {
  const count = (isCounted: (row: UsageRow) => boolean) =>
    rows.filter(isCounted).reduce((sum, { requests }) => sum + requests, 0)
  const findLatest = (isCounted: (row: UsageRow) => boolean) =>
    rows
      .filter(isCounted)
      .map(({ latest }) => latest)
      .toSorted()
      .at(-1) ?? null
  const isIssued = ({ isToken, status }: UsageRow) => isToken && status === '200'
  const errors: Record<string, number> = {}
  for (const { error, requests } of rows) if (error !== '') errors[error] = (errors[error] ?? 0) + requests
  return {
    tokens: count(isIssued),
    lists: count(({ isToken, error }) => !isToken && error === ''),
    unchangedLists: count(({ isToken, status }) => !isToken && status === '304'),
    errors,
    lastRequestAt: findLatest(() => true),
    lastTokenAt: findLatest(isIssued),
  }
}
