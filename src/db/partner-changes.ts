// Changes partners, and records changes of signing keys. The keys themselves are not in the database. Each change is one INSERT of the
// next row of `change_record` (migrations/*.sql).
import { and, eq, getTableColumns, isNull, max, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias, type SQLiteInsertValue } from 'drizzle-orm/sqlite-core'
import { writeNullable } from './database.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { changeRecord, partnerContacts } from './schema.ts'
import { computeNextNumber } from './record-numbers.ts'

/** Who makes a change, by which command, and why. A request that is repeated has the same `requestId`, and changes nothing again. */
export interface ChangeRequest {
  requestId: string
  actor: string
  command: string
  note: string | null
}

export type NewPartnerRow = Record<'shortName' | 'name' | 'country' | 'clientId' | 'secretHash', string>

/** The ways to replace a partner's secrets. */
export type SecretReplacement =
  /** The current secret ends after `graceSeconds`, which is at least 1. */
  | { kind: 'rotate'; graceSeconds: number }
  /** Every secret ends now. */
  | { kind: 'replace-all' }
  /** The newest secret ends now; an older one keeps its expiry. */
  | { kind: 'replace-newest' }
  /** Every secret ends now, and every token that was issued so far. */
  | { kind: 'lockdown' }

export type PartnerChange =
  | (SecretReplacement & { secretHash: string })
  | { kind: 'suspend' | 'resume' | 'end' | 'end-tokens' }
  /** `set-contact` records that a contact was set. `setContact` stores the contact itself. */
  | { kind: 'set' | 'set-contact'; name: string; country: string }

/** The row of a change that was made. Times are Unix seconds of D1's clock. */
export type MadeChange = Pick<ChangeRow, 'id' | 'changedAt' | 'suspendedAt' | 'tokensValidFrom'>

type ChangeRow = typeof changeRecord.$inferSelect
type ChangeValues = { [Name in keyof ChangeRow]?: ChangeRow[Name] | SQL }

const newest = alias(changeRecord, 'newest')
const { id, changedAt, suspendedAt, tokensValidFrom } = changeRecord
const madeFields = { id, changedAt, suspendedAt, tokensValidFrom }
/** A request that is repeated has the `requestId` of a row, and inserts nothing. */
const repetition = { target: changeRecord.requestId }

/** D1's clock, in Unix seconds. */
const now = sql`unixepoch()`
const newSecret = (hash: string) => sql`json_object('hash', ${hash}, 'createdAt', ${now}, 'expiresAt', null)`

/** Inserts a partner. Fails on a unique index if its short name or client ID is taken. @returns undefined if this request has inserted the partner before. */
export function insertNewPartner(
  db: OperatorDatabase,
  request: ChangeRequest,
  { shortName, name, country, clientId, secretHash }: NewPartnerRow,
): Promise<MadeChange | undefined> {
  const secrets = sql`json_array(${newSecret(secretHash)})`
  const partner = { shortName, name, country, clientId, createdAt: now, secrets } satisfies ChangeValues
  return insertRow(db, { ...describeRequest(request, 'create'), ...partner })
}

/** Records a change of a signing key. @param kid the ID of the key. @returns undefined if this request was recorded before. */
export function recordKeyChange(
  db: OperatorDatabase,
  request: ChangeRequest,
  kind: string,
  kid: string,
): Promise<MadeChange | undefined> {
  return insertRow(db, { ...describeRequest(request, kind), kid })
}

async function insertRow(
  db: OperatorDatabase,
  row: SQLiteInsertValue<typeof changeRecord>,
): Promise<MadeChange | undefined> {
  const [made] = await db.insert(changeRecord).values(row).onConflictDoNothing(repetition).returning(madeFields)
  return made
}

/**
 * Changes a partner: inserts its newest row again, with some other values.
 * @param newestId the ID of the partner's newest row when it was read.
 * @returns undefined if the partner has a newer row by now, of this request or another, or has ended.
 */
export async function insertPartnerChange(
  db: OperatorDatabase,
  request: ChangeRequest,
  newestId: number,
  change: PartnerChange,
): Promise<MadeChange | undefined> {
  const changed = nameFields({ ...describeRequest(request, change.kind), ...computeNextValues(change) })
  const next = db
    .select({ ...getTableColumns(newest), ...changed })
    .from(newest)
    .where(and(eq(newest.id, newestId), eq(newest.id, selectNewestId(db, newest.shortName)), isNull(newest.endedAt)))
  const [made] = await db.insert(changeRecord).select(next).onConflictDoNothing(repetition).returning(madeFields)
  return made
}

/** @returns the row that a request inserted, if any. Shows a command whose answer was lost whether its change was made. */
export async function findChange(db: OperatorDatabase, requestId: string): Promise<MadeChange | undefined> {
  const [made] = await db.select(madeFields).from(changeRecord).where(eq(changeRecord.requestId, requestId))
  return made
}

function selectNewestId(db: OperatorDatabase, shortName: SQLWrapper | string) {
  return db
    .select({ id: max(id) })
    .from(changeRecord)
    .where(eq(changeRecord.shortName, shortName))
}

/** @returns the columns that say who made a change, when and how */
function describeRequest({ requestId, actor, command, note }: ChangeRequest, kind: string) {
  return {
    id: computeNextNumber(id),
    changedAt: now,
    actor,
    command,
    note: writeNullable(note),
    kind,
    requestId,
  } satisfies ChangeValues
}

/** Gives each value a name, which drizzle needs in INSERT … SELECT. */
function nameFields(values: ChangeValues): { [Name in keyof ChangeRow]?: SQL.Aliased } {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, sql`${value}`.as(name)]))
}

/**
 * The time from which tokens are valid, when all tokens so far are ended. The `iat` of a token is a second of D1's clock or an earlier value
 * of this time, so the new time is later than both. Until D1's clock has reached it, new tokens have it as their `iat` (src/worker/token/token-route.ts).
 */
const endOfTokens = sql`max(coalesce(${newest.tokensValidFrom}, 0), ${now}) + 1`

/** @returns the values of the next row that differ from the newest row */
function computeNextValues(change: PartnerChange): ChangeValues {
  switch (change.kind) {
    case 'rotate':
    case 'replace-newest':
    case 'replace-all':
      return { secrets: computeSecrets(change) }
    case 'lockdown':
      return { secrets: computeSecrets(change), tokensValidFrom: endOfTokens }
    case 'suspend':
      return { suspendedAt: now }
    case 'resume':
      return { suspendedAt: sql`null` }
    case 'end':
      return { endedAt: now, suspendedAt: sql`coalesce(${newest.suspendedAt}, ${now})`, secrets: sql`'[]'` }
    case 'end-tokens':
      return { tokensValidFrom: endOfTokens }
    case 'set':
    case 'set-contact':
      return { name: change.name, country: change.country }
  }
}

/**
 * @returns a JSON array: the earlier secrets that still work after this change, as `SecretReplacement` says, then the new secret. A CHECK of
 * the table refuses more than two secrets
 */
function computeSecrets(change: SecretReplacement & { secretHash: string }): SQL {
  const expiresAt = sql`value ->> '$.expiresAt'`
  const graceSeconds = change.kind === 'rotate' ? change.graceSeconds : 0
  const graceEnd = sql`min(coalesce(${expiresAt}, 9e15), ${now} + ${graceSeconds})`
  // The newest secret has no expiry. With 'replace-newest', its end is therefore null, and the query drops it.
  const end = change.kind === 'replace-newest' ? expiresAt : graceEnd
  const kept = sql`
    select json_group_array(json_set(value, '$.expiresAt', ${end})) from json_each(${newest.secrets}) where ${end} > ${now}`
  return sql`json_insert((${kept}), '$[#]', ${newSecret(change.secretHash)})`
}

/** Stores the contact of a partner that has not ended. Deletes the contact of any partner if `contact` is null. */
export async function setContact(db: OperatorDatabase, shortName: string, contact: string | null): Promise<void> {
  if (contact === null) {
    await db.delete(partnerContacts).where(eq(partnerContacts.shortName, shortName))
    return
  }
  const open = db
    .select({ shortName: newest.shortName, contact: sql`${contact}`.as('contact') })
    .from(newest)
    .where(and(eq(newest.id, selectNewestId(db, shortName)), isNull(newest.endedAt)))
  await db
    .insert(partnerContacts)
    .select(open)
    .onConflictDoUpdate({ target: partnerContacts.shortName, set: { contact } })
}
