// The Worker's SQL about a client. Every column is qualified with its table: see plan-queries.ts.
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
  /** Every change of the catalog raises it. */
  revision: number
}

type CheckRow = [
  revision: number,
  shortName: string | null,
  country: string | null,
  suspendedAt: number | null,
  tokensValidFrom: number | null,
  hash: string | null,
  expiresAt: number | null,
]

const checkQuery = `
  select catalog_revision.revision, partners.short_name, partners.country, partners.suspended_at,
    partners.tokens_valid_from, partner_secrets.hash, partner_secrets.expires_at
  from catalog_revision
  left join partners on partners.client_id = ?
  left join partner_secrets on partner_secrets.partner_id = partners.id`

/**
 * One query, by unique indexes, for the token endpoint and the plan list: a copy of its answer never has old hashes.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  clientId: string,
): Promise<PartnerCheck> {
  const rows = await readRows<CheckRow>(d1, { sql: checkQuery, params: [clientId] })
  const [first] = rows
  if (first === undefined) throw new Error('catalog_revision has no row')
  const [revision, shortName, country, suspendedAt, tokensValidFrom] = first
  if (shortName === null || country === null) return { revision, partner: undefined }
  const secrets = rows.flatMap(([, , , , , hash, expiresAt]) => (hash === null ? [] : { hash, expiresAt }))
  return { revision, partner: { shortName, country, isSuspended: suspendedAt !== null, tokensValidFrom, secrets } }
}
