// The Worker's query about a client. Its answer is called a check.
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { parseTrusted } from '../json.ts'
import { readRows, writeQuery } from './database.ts'
import { newestRevision } from './plan-queries.ts'
import { selectNewestNumber } from './record-numbers.ts'
import { changeRecord, type StoredSecret } from './schema.ts'

/** The data of a partner that the Worker needs, to authenticate its client and to accept its tokens. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
  /** Unix seconds. Tokens that were issued before are refused. Null: none are. */
  tokensValidFrom: number | null
  /** Includes secrets that have ended. `expiresAt` is in Unix seconds, null for the current secret. */
  secrets: Pick<StoredSecret, 'hash' | 'expiresAt'>[]
}

/** D1's answer about a client. All of it is read at the same moment. */
export interface PartnerCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** The ID of this partner's newest change. Null without a partner. */
  partnerChangeId: number | null
  /** The ID of the newest change of any partner. Each change raises it. */
  changeId: number
  /** The catalog's revision. Each change of the catalog raises it. */
  revision: number
  /** Unix seconds of D1's clock. */
  nowSeconds: number
}

const newest = alias(changeRecord, 'newest')

const checkQuery = writeQuery(sql`
  select checked.revision, checked.change_id, unixepoch(), ${newest.shortName}, ${newest.country}, ${newest.suspendedAt},
    ${newest.tokensValidFrom}, ${newest.secrets}, ${newest.id}
  from (select ${newestRevision} as revision, ${selectNewestNumber(changeRecord.id)} as change_id) as checked
  left join ${changeRecord} as ${newest} on ${newest.id} = (
    select max(${changeRecord.id}) from ${changeRecord} where ${changeRecord.clientId} = ${sql.placeholder('clientId')}
  )`)

/**
 * Asks about a client by one query, which uses indexes only. The token endpoint and the plan list ask the same, so that a copy of any
 * answer has the current hashes of secrets.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  clientId: string,
): Promise<PartnerCheck> {
  // Without a partner, all columns but the first three are null.
  type Row = [
    revision: number,
    changeId: number,
    nowSeconds: number,
    shortName: string | null,
    string,
    number | null,
    number | null,
    secrets: string,
    partnerChangeId: number | null,
  ]
  const [row] = await readRows<Row>(d1, checkQuery, { clientId })
  if (row === undefined) throw new Error('D1 returned no row')
  const [revision, changeId, nowSeconds, shortName, country, suspendedAt, tokensValidFrom, json, partnerChangeId] = row
  const numbers = { revision, changeId, nowSeconds, partnerChangeId }
  if (shortName === null) return { ...numbers, partner: undefined }
  const stored = parseTrusted<StoredSecret[]>(json)
  const secrets = stored.map(({ hash, expiresAt }) => ({ hash, expiresAt }))
  const partner = { shortName, country, isSuspended: suspendedAt !== null, tokensValidFrom, secrets }
  return { ...numbers, partner }
}
