// Reads partners and the record of their changes, for operators. Only `selectStoredSecrets` selects hashes. partner-changes.ts changes
// partners, and client-queries.ts has the Worker's query.
import { and, asc, between, desc, eq, inArray, isNotNull, lt, lte, max, sql, type SQL } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { parseTrusted } from '../json.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { readAll } from './pages.ts'
import { changeRecord, partnerContacts, type StoredSecret } from './schema.ts'

export type LiveSecret = Omit<StoredSecret, 'hash'>

/** Gives a column a type without null: it has a value in each row of a partner, and is null only in rows of signing keys. */
const required = <Column extends SQLiteColumn>(column: Column) => sql<NonNullable<Column['_']['data']>>`${column}`

/** A partner after a change. An ended partner is also suspended. Tokens that were issued before `tokensValidFrom` are refused. */
const partnerFields = {
  id: changeRecord.id,
  shortName: required(changeRecord.shortName),
  name: required(changeRecord.name),
  country: required(changeRecord.country),
  clientId: required(changeRecord.clientId),
  createdAt: required(changeRecord.createdAt),
  suspendedAt: changeRecord.suspendedAt,
  endedAt: changeRecord.endedAt,
  tokensValidFrom: changeRecord.tokensValidFrom,
}

const earlier = alias(changeRecord, 'earlier')
const before = alias(changeRecord, 'before')
const { changedAt, actor, command, note, kind } = changeRecord
const changeFields = { changedAt, actor, command, note, kind }

/**
 * A partner as operators see it. `id` is the ID of the partner's newest row in `change_record`. `secrets` are the secrets that work, the
 * oldest first.
 */
export type Partner = Awaited<ReturnType<typeof selectPartners>>[number]
export type PartnerEntry = Awaited<ReturnType<typeof selectPartnerEntries>>[number]
export type KeyEntry = Awaited<ReturnType<typeof selectKeyEntries>>[number]

export function selectPartners(db: OperatorDatabase) {
  const newestIds = selectNewestIds(db)
  return selectRows(db, inArray(changeRecord.id, newestIds)).orderBy(asc(changeRecord.shortName))
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds selects the partner as it was, or will be, at the end of that Unix second. Its contact is always the present one. If a
 * later change has deleted the secrets of that time, `hasSecretState` is false.
 */
export async function selectPartner(
  db: OperatorDatabase,
  name: string,
  atSeconds?: number,
): Promise<Partner | undefined> {
  const { id, shortName, clientId } = changeRecord
  const ofClient = db.select({ shortName }).from(changeRecord).where(eq(clientId, name)).limit(1)
  const wasMade = atSeconds === undefined ? undefined : lte(changedAt, atSeconds)
  const isWanted = and(eq(shortName, sql`coalesce(${ofClient}, ${name})`), wasMade)
  const [found] = await selectRows(db, isWanted, atSeconds).orderBy(desc(id)).limit(1)
  return found
}

/** Selects rows of partners. `secrets` has the secrets that work at `atSeconds`, a Unix second. Default: now. */
function selectRows(db: OperatorDatabase, condition: SQL | undefined, atSeconds?: number) {
  // The HTTP API passes numbers as text, which no column turns back here.
  const now = atSeconds === undefined ? sql`unixepoch()` : sql`cast(${atSeconds} as integer)`
  const secret = sql`json_each(${changeRecord.secrets})`
  const expiresAt = sql`value ->> '$.expiresAt'`
  return db
    .select({
      ...partnerFields,
      contact: partnerContacts.contact,
      secrets: sql`(
        select json_group_array(json_remove(value, '$.hash')) from ${secret} where coalesce(${expiresAt} > ${now}, 1)
      )`.mapWith((json: string) => parseTrusted<LiveSecret[]>(json)),
      /** False when a later change has deleted the secrets of this row. `secrets` and `secretEndedAt` then say nothing. */
      hasSecretState: sql`${changeRecord.secrets} is not null`.mapWith(Boolean),
      /** When the previous secret ended, if it had a grace period; otherwise null. */
      secretEndedAt: sql<number | null>`(select max(${expiresAt}) from ${secret} where ${expiresAt} <= ${now})`,
    })
    .from(changeRecord)
    .leftJoin(partnerContacts, eq(partnerContacts.shortName, changeRecord.shortName))
    .where(condition)
}

/** Selects the ID of each partner's newest row. */
function selectNewestIds(db: OperatorDatabase) {
  const { id, shortName } = changeRecord
  return db
    .select({ id: max(id) })
    .from(changeRecord)
    .where(isNotNull(shortName))
    .groupBy(shortName)
}

/** Selects the secrets of all partners that are still valid by D1's clock, with their hashes. */
export async function selectStoredSecrets(db: OperatorDatabase): Promise<(StoredSecret & { shortName: string })[]> {
  const { id, shortName, secrets } = changeRecord
  const rows = await db
    .select({ shortName: required(shortName), secrets, nowSeconds: sql<number>`unixepoch()` })
    .from(changeRecord)
    .where(inArray(id, selectNewestIds(db)))
    .orderBy(asc(id))
  return rows.flatMap((row) => {
    const live = row.secrets?.filter(({ expiresAt }) => expiresAt === null || expiresAt > row.nowSeconds) ?? []
    return live.map(({ hash, createdAt, expiresAt }) => ({ hash, createdAt, expiresAt, shortName: row.shortName }))
  })
}

/** Selects the changes of one partner, and the changes from `since` to `until`, in Unix seconds. */
export interface EntryFilter {
  shortName?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** The condition that `earlier` is the partner's row before a change. */
const isEarlier = sql`${earlier.id} = (
  select max(${before.id}) from ${changeRecord} as ${before}
  where ${before.shortName} = ${changeRecord.shortName} and ${before.id} < ${changeRecord.id}
)`

/** Selects the changes of partners, the newest first. */
export function selectPartnerEntries(db: OperatorDatabase, { shortName, ...times }: EntryFilter = {}) {
  const column = changeRecord.shortName
  const isWanted = and(shortName === undefined ? isNotNull(column) : eq(column, shortName), isBetween(times))
  return readAll(
    (last: number | undefined, limit) =>
      db
        .select({ ...partnerFields, ...changeFields, nameBefore: earlier.name, countryBefore: earlier.country })
        .from(changeRecord)
        .leftJoin(earlier, isEarlier)
        .where(and(isWanted, isBefore(last)))
        .orderBy(desc(changeRecord.id))
        .limit(limit),
    (row) => row.id,
  )
}

/** Selects the changes of signing keys, the newest first. */
export function selectKeyEntries(db: OperatorDatabase, times: Omit<EntryFilter, 'shortName'> = {}) {
  const { id, kid } = changeRecord
  return readAll(
    (last: number | undefined, limit) =>
      db
        .select({ id, kid: required(kid), ...changeFields })
        .from(changeRecord)
        .where(and(isNotNull(kid), isBetween(times), isBefore(last)))
        .orderBy(desc(id))
        .limit(limit),
    (row) => row.id,
  )
}

const isBetween = ({ since = 0, until = Number.MAX_SAFE_INTEGER }: Omit<EntryFilter, 'shortName'>) =>
  between(changedAt, since, until)

const isBefore = (last = Number.MAX_SAFE_INTEGER) => lt(changeRecord.id, last)

/** @returns the time by D1's clock, in Unix seconds */
export async function selectNowSeconds(db: OperatorDatabase): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch()`)
  if (row === undefined) throw new Error('D1 returned no row')
  return row[0]
}
