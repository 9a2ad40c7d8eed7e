// The Worker's query about a client. Its answer is called a check.
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { parseTrusted } from '../json.ts'
import { readRows, writeQuery, type QueriedD1 } from './database.ts'
import { newestRevision } from './plan-queries.ts'
import { selectNewestNumber } from './record-numbers.ts'
import { changeRecord, type StoredSecret } from './schema.ts'

/** The data of a partner that the Worker needs, to authenticate its client and to accept its tokens. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
  /** Unix seconds. Tokens that were issued earlier are refused. Null: no token is refused for its age. */
  tokensValidFrom: number | null
  /** The secrets, also secrets that have expired. `expiresAt` is in Unix seconds, null for the current secret. */
  secrets: Pick<StoredSecret, 'hash' | 'expiresAt'>[]
}

/** D1's answer about a client. One query reads all fields, so they belong to the same moment. */
export interface PartnerCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** The ID of this partner's newest change. Null if no partner has the client ID. */
  partnerChangeId: number | null
  /** The ID of the newest change of any partner or signing key. Each change has a higher ID. */
  changeId: number
  /** The newest revision of the catalog. Each publication has a higher revision. */
  revision: number
  /** Unix seconds of D1's clock. */
  nowSeconds: number
}

const newest = alias(changeRecord, 'newest')

const checkQuery = writeQuery(sql`
  select numbers.revision, numbers.change_id, unixepoch(), ${newest.shortName}, ${newest.country}, ${newest.suspendedAt},
    ${newest.tokensValidFrom}, ${newest.secrets}, ${newest.id}
  from (select ${newestRevision} as revision, ${selectNewestNumber(changeRecord.id)} as change_id) as numbers
  left join ${changeRecord} as ${newest} on ${newest.id} = (
    select max(${changeRecord.id}) from ${changeRecord} where ${changeRecord.clientId} = ${sql.placeholder('clientId')}
  )`)

/**
 * Selects the hashes of secrets even when a request for plans needs none: a later sign-in may use a copy of the answer.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(d1: QueriedD1, clientId: string): Promise<PartnerCheck> {
  // If no partner has the client ID, all columns after the third are null.
  type Row = [
    revision: number,
    changeId: number,
    nowSeconds: number,
    shortName: string | null,
    country: string,
    suspendedAt: number | null,
    tokensValidFrom: number | null,
    secretsJson: string,
    partnerChangeId: number | null,
  ]
  const [row] = await readRows<Row>(d1, checkQuery, { clientId })
  if (row === undefined) throw new Error('D1 returned no row')
  const [
    revision,
    changeId,
    nowSeconds,
    shortName,
    country,
    suspendedAt,
    tokensValidFrom,
    secretsJson,
    partnerChangeId,
  ] = row
  const numbers = { revision, changeId, nowSeconds, partnerChangeId }
  if (shortName === null) return { ...numbers, partner: undefined }
  const secrets = parseTrusted<StoredSecret[]>(secretsJson).map(({ hash, expiresAt }) => ({ hash, expiresAt }))
  const partner = { shortName, country, isSuspended: suspendedAt !== null, tokensValidFrom, secrets }
  return { ...numbers, partner }
}
