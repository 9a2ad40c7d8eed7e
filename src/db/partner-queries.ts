// SQL that reads partners and the change record as operators see them. partner-changes.ts changes them, client-queries.ts is the
// Worker's. Only `selectStoredSecrets` selects hashes.
import { and, asc, desc, eq, getTableColumns, gte, isNotNull, lt, lte, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { readAll } from './pages.ts'
import { changeRecord, partnerContacts } from './schema.ts'

const { id, changedAt, partner } = changeRecord
const { secrets, requestId: _, ...entryFields } = getTableColumns(changeRecord)

/** Times are Unix seconds; `expiresAt` is null while the secret is the current one. */
export interface LiveSecret {
  createdAt: number
  expiresAt: number | null
}

/** The secrets of a row that are still valid by D1's clock. */
const liveSecrets = sql`json_each(${secrets}) where coalesce(value ->> '$.expiresAt' > unixepoch(), 1)`

const partnerFields = {
  /** The ID of the partner's newest row, which a change names. */
  changeId: id,
  shortName: sql<string>`${partner}`,
  name: sql<string>`${changeRecord.name}`,
  country: sql<string>`${changeRecord.country}`,
  clientId: sql<string>`${changeRecord.clientId}`,
  createdAt: sql<number>`${changeRecord.createdAt}`,
  suspendedAt: changeRecord.suspendedAt,
  closedAt: changeRecord.closedAt,
  tokensValidFrom: changeRecord.tokensValidFrom,
  contact: partnerContacts.contact,
  /** The oldest first. */
  secrets: sql`(select json_group_array(json_remove(value, '$.hash')) from ${liveSecrets})`.mapWith(
    (json: string): LiveSecret[] => JSON.parse(json),
  ),
}

/**
 * A partner as operators see it, with its live secrets. Times are Unix seconds. A closed partner is also suspended. Tokens that
 * were issued before `tokensValidFrom` are refused.
 */
export type Partner = Awaited<ReturnType<typeof selectPartners>>[number]

const isNewest = sql`${id} in (select max(id) from change_record where partner is not null group by partner)`

export function selectPartners(db: Database) {
  return selectRows(db).where(isNewest).orderBy(asc(partner))
}

const selectRows = (db: Database) =>
  db.select(partnerFields).from(changeRecord).leftJoin(partnerContacts, eq(partnerContacts.partner, partner))

/** @param atSeconds as it was at the end of that Unix second, except for its contact and its secrets. */
export async function selectPartner(db: Database, shortName: string, atSeconds?: number): Promise<Partner | undefined> {
  const wasMade = atSeconds === undefined ? undefined : lte(changedAt, atSeconds)
  const [found] = await selectRows(db)
    .where(and(eq(partner, shortName), wasMade))
    .orderBy(desc(id))
    .limit(1)
  return found
}

/** A live secret with its hash, and its partner. */
export interface StoredSecret {
  hash: string
  secret: LiveSecret
  shortName: string
}

/** Selects the secrets of all partners that are still valid by D1's clock. */
export async function selectStoredSecrets(db: Database): Promise<StoredSecret[]> {
  const rows = await db.values<[secret: string, shortName: string]>(
    sql`select value, partner from change_record, ${liveSecrets} and ${isNewest} order by change_record.id, json_each.key`,
  )
  return rows.map(([json, shortName]) => {
    const { hash, ...secret }: LiveSecret & { hash: string } = JSON.parse(json)
    return { hash, secret, shortName }
  })
}

/** A change of a partner, which has the partner after it, or of a key, which has a `kid`. */
export type ChangeEntry = Omit<typeof changeRecord.$inferSelect, 'secrets' | 'requestId'>

export interface EntryFilter {
  /** Only the entries of this partner. */
  shortName?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
}

/** Selects the changes of partners, or of keys, the newest first. */
export function selectEntries(
  db: Database,
  subject: 'partner' | 'kid',
  { shortName, since }: EntryFilter,
): Promise<ChangeEntry[]> {
  const ofSubject = shortName === undefined ? isNotNull(changeRecord[subject]) : eq(partner, shortName)
  const isRecent = since === undefined ? undefined : gte(changedAt, since)
  return readAll((last, limit) =>
    db
      .select(entryFields)
      .from(changeRecord)
      .where(and(ofSubject, isRecent, last && lt(id, last.id)))
      .orderBy(desc(id))
      .limit(limit),
  )
}

/** D1's clock, in Unix seconds. */
export async function selectNowSeconds(db: Database): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch()`)
  if (row === undefined) throw new Error('D1 returned no row')
  return row[0]
}
