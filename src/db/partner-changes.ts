// Changes partners, and records changes of signing keys. Each change is one INSERT of the next row of `change_record`.
import { and, eq, getTableColumns, isNull, max, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias, type SQLiteInsertValue } from 'drizzle-orm/sqlite-core'
import type { OperatorDatabase } from './operator-database.ts'
import { changeRecord, partnerContacts } from './schema.ts'
import { computeNextNumber } from './record-numbers.ts'

/** Says who makes a change, by which command, and why. A request that is sent again has the same `requestId`: it changes nothing. */
export interface ChangeRequest {
  requestId: string
  actor: string
  command: string
  note: string | null
}

export type NewPartnerRow = Record<'shortName' | 'name' | 'country' | 'clientId' | 'secretHash', string>

export type SecretReplacement =
  /** The current secret ends after `graceSeconds`, which is at least 1. */
  | { kind: 'rotate'; graceSeconds: number }
  /** Every secret ends now. */
  | { kind: 'replace-all' }
  /** The newest secret ends now. An older secret keeps its expiry. */
  | { kind: 'replace-newest' }
  /** Every secret ends now. Every token that was issued so far ends, too. */
  | { kind: 'lockdown' }

export type PartnerChange =
  | (SecretReplacement & { secretHash: string })
  | { kind: 'suspend' | 'resume' | 'end' | 'end-tokens' }
  /** `set-contact` records that a contact was set. `setContact` stores the contact itself. */
  | { kind: 'set' | 'set-contact'; name: string; country: string }

/** Some columns of the row that a change inserted. Times are Unix seconds of D1's clock. */
export type MadeChange = Pick<ChangeRow, 'id' | 'changedAt' | 'suspendedAt' | 'tokensValidFrom'>

type ChangeRow = typeof changeRecord.$inferSelect
/** Has only SQL, because a select of drizzle takes columns and SQL, but no plain values. */
type ChangeValues = { [Name in keyof ChangeRow]?: SQL }

const newest = alias(changeRecord, 'newest')
const { id, changedAt, suspendedAt, tokensValidFrom } = changeRecord
const madeFields = { id, changedAt, suspendedAt, tokensValidFrom }
/** The conflict when a request is repeated: a row has its `requestId` already. */
const repetition = { target: changeRecord.requestId }

/** D1's clock, in Unix seconds. */
const now = sql`unixepoch()`
const writeNewSecret = (hash: string) => sql`json_object('hash', ${hash}, 'createdAt', ${now}, 'expiresAt', null)`

/**
 * @returns undefined if this request has inserted the partner already.
 * @throws an error whose cause names `change_record.partner` or `change_record.client_id`, if the short name or the client ID is taken.
 */
export function insertNewPartner(
  db: OperatorDatabase,
  request: ChangeRequest,
  { shortName, name, country, clientId, secretHash }: NewPartnerRow,
): Promise<MadeChange | undefined> {
  const secrets = sql`json_array(${writeNewSecret(secretHash)})`
  const partner = { shortName, name, country, clientId, createdAt: now, secrets }
  return insertUnlessRepeated(db, { ...makeCommonValues(request, 'create'), ...partner })
}

/** @param kind such as `keys-rotate`. @returns undefined if this request was recorded already. */
export function insertKeyChange(
  db: OperatorDatabase,
  request: ChangeRequest,
  kind: string,
  kid: string,
): Promise<MadeChange | undefined> {
  return insertUnlessRepeated(db, { ...makeCommonValues(request, kind), kid })
}

/** @returns undefined, without a change, if a row has the `requestId` already. */
async function insertUnlessRepeated(
  db: OperatorDatabase,
  row: SQLiteInsertValue<typeof changeRecord>,
): Promise<MadeChange | undefined> {
  const [newRow] = await db.insert(changeRecord).values(row).onConflictDoNothing(repetition).returning(madeFields)
  return newRow
}

/**
 * Inserts a copy of the partner's newest row, with the values that `change` changes.
 * @param newestId the ID of the partner's newest row when the caller read the partner.
 * @returns undefined, without a change, if the partner has a newer row or has ended. The newer row may be by the same request.
 */
export async function insertPartnerChange(
  db: OperatorDatabase,
  request: ChangeRequest,
  newestId: number,
  change: PartnerChange,
): Promise<MadeChange | undefined> {
  const changedValues: ChangeValues = { ...makeCommonValues(request, change.kind), ...computeNextValues(change) }
  const isStillNewest = and(eq(newest.id, newestId), eq(newest.id, selectNewestChangeId(db, newest.shortName)))
  const nextRow = db
    .select({ ...getTableColumns(newest), ...changedValues })
    .from(newest)
    .where(and(isStillNewest, isNull(newest.endedAt)))
  const [newRow] = await db.insert(changeRecord).select(nextRow).onConflictDoNothing(repetition).returning(madeFields)
  return newRow
}

/** Finds the row that a request inserted, for a command whose answer was lost. @returns undefined if the request inserted none. */
export async function findChange(db: OperatorDatabase, requestId: string): Promise<MadeChange | undefined> {
  const [row] = await db.select(madeFields).from(changeRecord).where(eq(changeRecord.requestId, requestId))
  return row
}

function selectNewestChangeId(db: OperatorDatabase, shortName: SQLWrapper | string) {
  return db
    .select({ id: max(id) })
    .from(changeRecord)
    .where(eq(changeRecord.shortName, shortName))
}

function makeCommonValues({ requestId, actor, command, note }: ChangeRequest, changeKind: string) {
  return {
    id: computeNextNumber(id),
    changedAt: now,
    actor: sql`${actor}`,
    command: sql`${command}`,
    // The HTTP API takes no null as a parameter.
    note: note === null ? sql`null` : sql`${note}`,
    kind: sql`${changeKind}`,
    requestId: sql`${requestId}`,
  } satisfies ChangeValues
}

/**
 * The value of `tokens_valid_from` that ends all tokens so far. A token's `iat` is the second of D1's clock at which it was issued, or the
 * partner's `tokens_valid_from` if that is later (src/worker/token/token-route.ts). So the new value is a second above both.
 */
const endOfTokens = sql`max(coalesce(${newest.tokensValidFrom}, 0), ${now}) + 1`

/** Computes the values that a change sets. The other values stay as they are in the newest row. */
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
      // The Worker reads only `suspended_at`: it refuses an ended partner as a suspended one.
      return { endedAt: now, suspendedAt: sql`coalesce(${newest.suspendedAt}, ${now})`, secrets: sql`'[]'` }
    case 'end-tokens':
      return { tokensValidFrom: endOfTokens }
    case 'set':
    case 'set-contact':
      return { name: sql`${change.name}`, country: sql`${change.country}` }
  }
}

/**
 * Writes a JSON array: the secrets of the newest row that still work after the change, then the new secret. The table allows two. The caller
 * refuses a `rotate` while two secrets work.
 */
function computeSecrets(change: SecretReplacement & { secretHash: string }): SQL {
  const expiresAt = sql`value ->> '$.expiresAt'`
  const graceSeconds = change.kind === 'rotate' ? change.graceSeconds : 0
  // The current secret has no expiry: 9e15 stands for a time that never comes.
  const graceEnd = sql`min(coalesce(${expiresAt}, 9e15), ${now} + ${graceSeconds})`
  // 'replace-newest' drops the current secret, because null > now is not true. Without a grace, every secret ends now, and is dropped.
  const nextExpiresAt = change.kind === 'replace-newest' ? expiresAt : graceEnd
  const keptSecrets = sql`select json_group_array(json_set(value, '$.expiresAt', ${nextExpiresAt}))
    from json_each(${newest.secrets}) where ${nextExpiresAt} > ${now}`
  return sql`json_insert((${keptSecrets}), '$[#]', ${writeNewSecret(change.secretHash)})`
}

/** Stores the contact of a partner, or deletes it if `contact` is null. Stores nothing for a partner that has ended. */
export async function setContact(db: OperatorDatabase, shortName: string, contact: string | null): Promise<void> {
  if (contact === null) {
    await db.delete(partnerContacts).where(eq(partnerContacts.shortName, shortName))
    return
  }
  const contactRow = db
    .select({ shortName: newest.shortName, contact: sql`${contact}`.as('contact') })
    .from(newest)
    .where(and(eq(newest.id, selectNewestChangeId(db, shortName)), isNull(newest.endedAt)))
  await db
    .insert(partnerContacts)
    .select(contactRow)
    .onConflictDoUpdate({ target: partnerContacts.shortName, set: { contact } })
}
