// How a partner uses the API, from the data points of http/request-log.ts.
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
    (dataset) =>
      `SELECT blob1 AS route, blob2 AS status, blob5 AS error, SUM(_sample_interval) AS requests, MAX(timestamp) AS latest FROM ${dataset} WHERE index1 = '${shortName}' AND timestamp > toDateTime(${sinceSeconds}) GROUP BY route, status, error`,
  )
  const usage: PartnerUsage = {
    tokens: 0,
    lists: 0,
    unchangedLists: 0,
    errors: {},
    lastRequestAt: null,
    lastTokenAt: null,
  }
  for (const row of rows) {
    const [route = '', status, error = ''] = ['route', 'status', 'error'].map((name) => String(row[name]))
    // Counts are texts, and times have no zone: they are in UTC.
    const requests = Number(row['requests'])
    const latest = `${String(row['latest']).replace(' ', 'T')}Z`
    const isToken = route.endsWith('/auth')
    if (error !== '') usage.errors[error] = (usage.errors[error] ?? 0) + requests
    else if (!isToken) usage.lists += requests
    if (!isToken && status === '304') usage.unchangedLists += requests
    if (isToken && status === '200') {
      usage.tokens += requests
      usage.lastTokenAt = pickLater(usage.lastTokenAt, latest)
    }
    usage.lastRequestAt = pickLater(usage.lastRequestAt, latest)
  }
  return usage
}

function pickLater(known: string | null, time: string): string {
  return known !== null && known > time ? known : time
}
