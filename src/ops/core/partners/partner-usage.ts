// Counts the requests of a partner. The Worker's src/worker/http/request-log.ts writes a data point for each request.
import type { Store } from '../../store/store.ts'
import type { QueryUsage } from '../../store/cloudflare-api.ts'
import { requirePartner } from './partner-accounts.ts'

/** Counts the requests of one kind that got the same answer. */
export interface Usage {
  request: 'list' | 'token'
  status: string
  /** The error code of the answer, if it was an error. */
  error: string | null
  requests: number
  /** The time of the latest of these requests, as ISO 8601. */
  lastAt: string
}

/** Counts requests by kind, status and error. Requests with wrong secrets count, too. Leaves out refusals before the partner is known, such as expired_token. @throws UserError when there is no such partner, and any error of `query` */
export async function readPartnerUsage(
  store: Store,
  query: QueryUsage,
  shortNameOrClientId: string,
  sinceSeconds: number,
): Promise<Usage[]> {
  // Safe in SQL: the short name of a partner has only letters, digits and hyphens.
  const { shortName } = await requirePartner(store, shortNameOrClientId)
  // A row of the dataset stands for `_sample_interval` requests, because Cloudflare may store only a sample.
  const rows = await query(
    (dataset) =>
      `SELECT blob1 AS route, blob2 AS status, blob5 AS error, SUM(_sample_interval) AS requests, MAX(timestamp) AS latest FROM ${dataset} WHERE index1 = '${shortName}' AND timestamp > toDateTime(${sinceSeconds}) GROUP BY route, status, error ORDER BY latest DESC`,
  )
  return rows.map(({ route, status, error, requests, latest }) => ({
    request: String(route).endsWith('/auth') ? 'token' : 'list',
    status: String(status),
    error: String(error) || null,
    // Cloudflare returns numbers as strings, and times in UTC without a zone.
    requests: Number(requests),
    lastAt: `${String(latest).replace(' ', 'T')}Z`,
  }))
}
