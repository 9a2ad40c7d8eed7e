// Reads partners and the record of their changes, for operators. Only `selectStoredSecrets` selects hashes. partner-changes.ts changes
// partners, and client-queries.ts has the Worker's query.
import { and, asc, between, desc, eq, inArray, isNotNull, lt, lte, max, sql, type SQL } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { parseTrusted } from '../json.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { readAll } from './pages.ts'
import { changeRecord, partnerContacts, type StoredSecret } from './schema.ts'

/** A secret that works, without its hash. */
export type LiveSecret = Omit<StoredSecret, 'hash'>

/** Gives a column a type without null, for a query of rows in which the column has a value: of partners, or of signing keys. */
const withoutNull = <Column extends SQLiteColumn>(column: Column) => sql<NonNullable<Column['_']['data']>>`${column}`

/** A partner after a change. An ended partner is also suspended. Tokens that were issued before `tokensValidFrom` are refused. */
const partnerFields = {
  id: changeRecord.id,
  shortName: withoutNull(changeRecord.shortName),
  name: withoutNull(changeRecord.name),
  country: withoutNull(changeRecord.country),
  clientId: withoutNull(changeRecord.clientId),
  createdAt: withoutNull(changeRecord.createdAt),
  suspendedAt: changeRecord.suspendedAt,
  endedAt: changeRecord.endedAt,
  tokensValidFrom: changeRecord.tokensValidFrom,
}

const previous = alias(changeRecord, 'previous')
const earlier = alias(changeRecord, 'earlier')
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
  const isNewest = inArray(changeRecord.id, selectNewestChangeIdPerPartner(db))
  return selectPartnerRows(db, isNewest).orderBy(asc(changeRecord.shortName))
}

/**
 * @param atSeconds selects the partner at the end of that Unix second, past or future. The contact is always the current contact. If the
 * secrets of that time are deleted, `hasSecretState` is false. Default: now.
 * @returns undefined if there is no such partner, or there was none at that time.
 */
export async function selectPartner(
  db: OperatorDatabase,
  shortNameOrClientId: string,
  atSeconds?: number,
): Promise<Partner | undefined> {
  const { id, shortName, clientId } = changeRecord
  const shortNameOfClient = db
    .select({ shortName })
    .from(changeRecord)
    .where(eq(clientId, shortNameOrClientId))
    .limit(1)
  const isOfPartner = eq(shortName, sql`coalesce(${shortNameOfClient}, ${shortNameOrClientId})`)
  const isNotLater = atSeconds === undefined ? undefined : lte(changedAt, atSeconds)
  const [newestRow] = await selectPartnerRows(db, and(isOfPartner, isNotLater), atSeconds).orderBy(desc(id)).limit(1)
  return newestRow
}

/** Selects rows of the record, each a partner after one change. `secrets` has the secrets that work at `atSeconds`. Default: now. */
function selectPartnerRows(db: OperatorDatabase, condition: SQL | undefined, atSeconds?: number) {
  // The HTTP API passes numbers as text. `value ->> …` is no column, so SQLite would not turn the text back into a number.
  const time = atSeconds === undefined ? sql`unixepoch()` : sql`cast(${atSeconds} as integer)`
  const secretsTable = sql`json_each(${changeRecord.secrets})`
  const expiresAt = sql`value ->> '$.expiresAt'`
  return db
    .select({
      ...partnerFields,
      contact: partnerContacts.contact,
      secrets: sql`(
        select json_group_array(json_remove(value, '$.hash')) from ${secretsTable} where ${expiresAt} is null or ${expiresAt} > ${time}
      )`.mapWith((json: string) => parseTrusted<LiveSecret[]>(json)),
      /** False when the secrets of this row were deleted after a later change. Then ignore `secrets` and `secretEndedAt`. */
      hasSecretState: sql`${changeRecord.secrets} is not null`.mapWith(Boolean),
      /** The Unix second at which the previous secret expired. Null if it had no grace period, or has not expired. */
      secretEndedAt: sql<number | null>`(select max(${expiresAt}) from ${secretsTable} where ${expiresAt} <= ${time})`,
    })
    .from(changeRecord)
    .leftJoin(partnerContacts, eq(partnerContacts.shortName, changeRecord.shortName))
    .where(condition)
}

function selectNewestChangeIdPerPartner(db: OperatorDatabase) {
  return db
    .select({ id: max(changeRecord.id) })
    .from(changeRecord)
    .where(isNotNull(changeRecord.shortName))
    .groupBy(changeRecord.shortName)
}

/** Selects all secrets that have not expired by D1's clock, with their hashes and the short names of their partners. */
export async function selectStoredSecrets(db: OperatorDatabase): Promise<(StoredSecret & { shortName: string })[]> {
  const columns = { shortName: withoutNull(changeRecord.shortName), secrets: changeRecord.secrets }
  const rows = await db
    .select({ ...columns, nowSeconds: sql<number>`unixepoch()` })
    .from(changeRecord)
    .where(inArray(changeRecord.id, selectNewestChangeIdPerPartner(db)))
    .orderBy(asc(changeRecord.id))
  return rows.flatMap(({ shortName, secrets, nowSeconds }) => {
    const liveSecrets = secrets?.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowSeconds) ?? []
    return liveSecrets.map(({ hash, createdAt, expiresAt }) => ({ hash, createdAt, expiresAt, shortName }))
  })
}

/** Selects the changes of one partner, or without `shortName` of all, from `since` to `until` in Unix seconds, which are both included. */
export interface EntryFilter {
  shortName?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** The condition that `previous` is the row of the same partner before the row of a change. */
const isPrevious = sql`${previous.id} = (
  select max(${earlier.id}) from ${changeRecord} as ${earlier}
  where ${earlier.shortName} = ${changeRecord.shortName} and ${earlier.id} < ${changeRecord.id}
)`

/** Selects the changes of partners, the newest first. `nameBefore` and `countryBefore` are null for the first change of a partner. */
export function selectPartnerEntries(db: OperatorDatabase, { shortName, ...times }: EntryFilter = {}) {
  const shortNameColumn = changeRecord.shortName
  const isOfPartner = shortName === undefined ? isNotNull(shortNameColumn) : eq(shortNameColumn, shortName)
  return readAll(
    (lastId: number | undefined, limit) =>
      db
        .select({ ...partnerFields, ...changeFields, nameBefore: previous.name, countryBefore: previous.country })
        .from(changeRecord)
        .leftJoin(previous, isPrevious)
        .where(and(isOfPartner, isBetween(times), isOnNextPage(lastId)))
        .orderBy(desc(changeRecord.id))
        .limit(limit),
    (row) => row.id,
  )
}

/** Selects the changes of signing keys, the newest first. */
export function selectKeyEntries(db: OperatorDatabase, times: Omit<EntryFilter, 'shortName'> = {}) {
  const { id, kid } = changeRecord
  return readAll(
    (lastId: number | undefined, limit) =>
      db
        .select({ id, kid: withoutNull(kid), ...changeFields })
        .from(changeRecord)
        .where(and(isNotNull(kid), isBetween(times), isOnNextPage(lastId)))
        .orderBy(desc(id))
        .limit(limit),
    (row) => row.id,
  )
}

const isBetween = ({ since = 0, until = Number.MAX_SAFE_INTEGER }: Omit<EntryFilter, 'shortName'>) =>
  between(changedAt, since, until)

/** Selects the page after the change with the ID `lastId`, the newest first. Without an ID, selects the first page. */
const isOnNextPage = (lastId = Number.MAX_SAFE_INTEGER) => lt(changeRecord.id, lastId)

export async function selectNowSeconds(db: OperatorDatabase): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch()`)
  if (row === undefined) throw new Error('D1 returned no row')
  return row[0]
}
