// The Worker's SQL about a client.
import { readRows } from './database.ts'

/** What the Worker reads about a partner: to authenticate its client, and to decide what its tokens give access to. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
  /** Unix seconds. Tokens that were issued earlier are refused. */
  tokensValidFrom: number | null
  /** Those that have ended included. `expiresAt` is in Unix seconds, null for the current secret. */
  secrets: { hash: string; expiresAt: number | null }[]
}

/** A partner and the catalog's revision, read at the same moment. */
export interface PartnerCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** The ID of the partner's row. Every change of the partner raises it. 0 for no partner. */
  changeId: number
  /** Every change of the catalog raises it. */
  revision: number
}

const checkQuery = `
  select catalog.revision, newest.id, newest.partner, newest.country, newest.suspended_at, newest.tokens_valid_from, newest.secrets
  from (select coalesce(max(revision), 0) as revision from publications) as catalog
  left join change_record as newest on newest.id = (select max(id) from change_record where client_id = ?)`

/**
 * One query, by indexes, for the token endpoint and the plan list: a copy of its answer never has old hashes.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  clientId: string,
): Promise<PartnerCheck> {
  // Without a partner, all but the revision are null.
  type Row = [revision: number, id: number | null, string, string, number | null, number | null, secrets: string]
  const [row] = await readRows<Row>(d1, { sql: checkQuery, params: [clientId] })
  if (row === undefined) throw new Error('D1 returned no row')
  const [revision, changeId, shortName, country, suspendedAt, tokensValidFrom, json] = row
  if (changeId === null) return { revision, changeId: 0, partner: undefined }
  const stored: PartnerAccess['secrets'] = JSON.parse(json)
  const secrets = stored.map(({ hash, expiresAt }) => ({ hash, expiresAt }))
  const partner = { shortName, country, isSuspended: suspendedAt !== null, tokensValidFrom, secrets }
  return { revision, changeId, partner }
}
