// How a partner uses the API, from the data points of http/request-log.ts.
import type { Store } from '../../store/store.ts'
import type { QueryUsage } from '../../store/cloudflare-api.ts'
import { findPartner } from './partner-accounts.ts'

/** Requests of one kind with one answer. */
export interface Usage {
  request: 'list' | 'token'
  status: string
  error: string | null
  requests: number
  /** ISO 8601 */
  lastAt: string
}

/**
 * Counts the requests that were recognized as the partner's, the latest first. A refused token request is counted for no partner.
 * @throws UserError when there is no such partner.
 */
export async function readPartnerUsage(
  store: Store,
  query: QueryUsage,
  name: string,
  sinceSeconds: number,
): Promise<Usage[]> {
  // A name that exists has only letters, digits and hyphens.
  const { shortName } = await findPartner(store, name)
  const rows = await query(
    (dataset) =>
      `SELECT blob1 AS route, blob2 AS status, blob5 AS error, SUM(_sample_interval) AS requests, MAX(timestamp) AS latest FROM ${dataset} WHERE index1 = '${shortName}' AND timestamp > toDateTime(${sinceSeconds}) GROUP BY route, status, error ORDER BY latest DESC`,
  )
  return rows.map(({ route, status, error, requests, latest }) => ({
    request: String(route).endsWith('/auth') ? 'token' : 'list',
    status: String(status),
    error: String(error) || null,
    // Numbers are strings, and times have no zone: they are in UTC.
    requests: Number(requests),
    lastAt: `${String(latest).replace(' ', 'T')}Z`,
  }))
}
