// Changes of partners, and of signing keys, which are not in the database: only their rows of the change record are. Each change
// is one INSERT of the next row (migrations/*.sql).
import { sql, type SQL } from 'drizzle-orm'
import { orNull, type Database } from './database.ts'

/** Who makes a change, and how. A repetition has the same `requestId`, and changes nothing. */
export interface ChangeRequest {
  requestId: string
  actor: string
  command: string
  note: string | null
}

export type NewPartner = Record<'shortName' | 'name' | 'country' | 'clientId' | 'secretHash', string>

/** The ways to replace a partner's secrets. */
export type SecretReplacement =
  /** The current secret works for at least another second. */
  | { kind: 'rotate'; graceSeconds: number }
  /** Every secret ends now. */
  | { kind: 'replace-all' }
  /** The newest secret ends now; an older one keeps its expiry. */
  | { kind: 'replace-newest' }
  /** Every secret ends now, and every token that was issued so far. */
  | { kind: 'lockdown' }

export type PartnerChange =
  | (SecretReplacement & { secretHash: string })
  | { kind: 'suspend' | 'resume' | 'close' | 'end-tokens' }
  /** The contact is not in the record: see `setContact`. */
  | { kind: 'set'; name: string; country: string }

/** The row of a change. */
export interface MadeChange {
  id: number
  /** Times are Unix seconds of D1's clock. */
  changedAt: number
  /** Null for a key. */
  suspendedAt: number | null
  /** Null for a key, and when no tokens have ended. */
  tokensValidFrom: number | null
}

const newSecret = (hash: string) => sql`json_object('hash', ${hash}, 'createdAt', unixepoch(), 'expiresAt', null)`

/** Fails on a unique index when the short name or the client ID is taken. @returns undefined when it was made before. */
export function createPartner(
  db: Database,
  request: ChangeRequest,
  { shortName, name, country, clientId, secretHash }: NewPartner,
): Promise<MadeChange | undefined> {
  const secrets = sql`json_array(${newSecret(secretHash)})`
  const partner = { partner: shortName, name, country, client_id: clientId, created_at: sql`unixepoch()`, secrets }
  return insertRow(db, request, 'create', partner)
}

/** Records a change of a signing key. @returns undefined when this request was recorded before. */
export function recordKeyChange(db: Database, request: ChangeRequest, kind: string, kid: string) {
  return insertRow(db, request, kind, { kid })
}

/**
 * Changes a partner.
 * @param newestId the ID of the partner's newest row, as it was read.
 * @returns undefined when the partner was changed since, by this request or another, or is closed.
 */
export function changePartner(
  db: Database,
  request: ChangeRequest,
  newestId: number,
  change: PartnerChange,
): Promise<MadeChange | undefined> {
  const newest = sql`
    from change_record as newest
    where id = (select max(id) from change_record where partner = newest.partner)
      and id = ${newestId} and closed_at is null`
  return insertRow(db, request, change.kind, { ...keptColumns, ...changedColumns(change) }, newest)
}

/** The columns of a partner beside its short name and its secrets. */
export const partnerColumns = 'name country client_id created_at suspended_at closed_at tokens_valid_from'.split(' ')
const keptColumns = Object.fromEntries(
  ['partner', ...partnerColumns, 'secrets'].map((column) => [column, sql.raw(column)]),
)

/** Inserts the row of a change. A repetition inserts nothing. Times are those of D1's clock. */
function insertRow(
  db: Database,
  { requestId, actor, command, note }: ChangeRequest,
  kind: string,
  columns: Readonly<Record<string, SQL | string>>,
  source = sql`where true`,
): Promise<MadeChange | undefined> {
  const values = Object.values(columns).map((value) => sql`${value}`)
  return readMade(
    db,
    sql`
    insert into change_record (changed_at, actor, command, note, kind, request_id, ${sql.raw(Object.keys(columns).join(', '))})
    select unixepoch(), ${actor}, ${command}, ${orNull(note)}, ${kind}, ${requestId}, ${sql.join(values, sql`, `)}
    ${source}
    on conflict (request_id) do nothing
    returning ${madeColumns}`,
  )
}

const madeColumns = sql`id, changed_at, suspended_at, tokens_valid_from`

/** @returns the row that a request inserted. After a lost answer, it says whether the change was made. */
export function findChange(db: Database, requestId: string): Promise<MadeChange | undefined> {
  return readMade(db, sql`select ${madeColumns} from change_record where request_id = ${requestId}`)
}

async function readMade(db: Database, query: SQL): Promise<MadeChange | undefined> {
  const [row] = await db.values<[number, number, number | null, number | null]>(query)
  if (row === undefined) return undefined
  const [id, changedAt, suspendedAt, tokensValidFrom] = row
  return { id, changedAt, suspendedAt, tokensValidFrom }
}

/**
 * The `iat` of a token is the time of an isolate's clock, which may be ahead of D1's by seconds, or the time that an earlier change
 * set, so this time is later than both. A new token takes it as its `iat` (src/worker/token/token-route.ts).
 */
const endTokens = sql`max(coalesce(tokens_valid_from, 0) + 1, unixepoch() + 5)`

/** The values of the next row that differ, in terms of the newest one. */
function changedColumns(change: PartnerChange): Record<string, SQL | string> {
  switch (change.kind) {
    case 'rotate':
    case 'replace-newest':
    case 'replace-all':
      return { secrets: replaceSecrets(change) }
    case 'lockdown':
      return { secrets: replaceSecrets(change), tokens_valid_from: endTokens }
    case 'suspend':
      return { suspended_at: sql`unixepoch()` }
    case 'resume':
      return { suspended_at: sql`null` }
    case 'close':
      return { closed_at: sql`unixepoch()`, suspended_at: sql`coalesce(suspended_at, unixepoch())`, secrets: sql`'[]'` }
    case 'end-tokens':
      return { tokens_valid_from: endTokens }
    case 'set':
      return { name: change.name, country: change.country }
  }
}

/** Keeps the secrets that work for a while beside the new one, at most one: two live ones are refused by a CHECK. */
function replaceSecrets(change: SecretReplacement & { secretHash: string }): SQL {
  const expiresAt = sql`value ->> '$.expiresAt'`
  const graceSeconds = change.kind === 'rotate' ? change.graceSeconds : 0
  const graceEnd = sql`min(coalesce(${expiresAt}, 9e15), unixepoch() + ${graceSeconds})`
  const end = change.kind === 'replace-newest' ? expiresAt : graceEnd
  const kept = sql`select json_group_array(json_set(value, '$.expiresAt', ${end})) from json_each(secrets) where ${end} > unixepoch()`
  return sql`json_insert((${kept}), '$[#]', ${newSecret(change.secretHash)})`
}

/** Sets how to reach a partner; null for nothing. A closed partner gets no contact. */
export async function setContact(db: Database, shortName: string, contact: string | null): Promise<void> {
  if (contact === null) await db.run(sql`delete from partner_contacts where partner = ${shortName}`)
  else {
    await db.run(sql`
      insert into partner_contacts (partner, contact)
      select partner, ${contact} from change_record
      where id = (select max(id) from change_record where partner = ${shortName}) and closed_at is null
      on conflict (partner) do update set contact = excluded.contact`)
  }
}

/** Deletes what only the newest row of a partner may have: hashes of secrets, and no contact when it is closed. May run twice. */
export async function deleteLeftovers(db: Database): Promise<void> {
  await db.run(sql`
    update change_record set secrets = null
    where secrets is not null and id < (select max(id) from change_record as newest where newest.partner = change_record.partner)`)
  await db.run(sql`
    delete from partner_contacts
    where exists (select 1 from change_record where partner = partner_contacts.partner and closed_at is not null)`)
}
