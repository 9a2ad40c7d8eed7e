// SQL for the record of changes of partners and signing keys: see migrations/0006_access_log.sql.
import { and, asc, desc, eq, gte, isNotNull, isNull, lte, max, ne, or, sql, type SQL } from 'drizzle-orm'
import type { Database, Statement } from './database.ts'
import { hashRecord } from './record-hash.ts'
import { accessLog } from './access-log-schema.ts'
import { partners } from './schema.ts'

export type KeyChangeKind = 'keys-rotate' | 'keys-rotate-failed' | 'keys-drop' | 'keys-drop-failed'

/** A change of a partner, or of a signing key, which is not in the database: only its entry is. */
export type AccessChange =
  | { kind: 'create'; partner: string; name: string; country: string; clientId: string; secretHash: string }
  | { kind: 'rotate'; partner: string; secretHash: string; graceSeconds: number }
  /** The newest secret ends now; an older one keeps its expiry. */
  | { kind: 'replace-newest'; partner: string; secretHash: string }
  | { kind: 'suspend' | 'resume' | 'close'; partner: string }
  | { kind: 'set-country'; partner: string; country: string }
  | { kind: 'rename'; partner: string; name: string }
  | { kind: 'set-contact'; partner: string; contact: string | null }
  | { kind: KeyChangeKind; kid: string }

/** The fields of a partner, from `partner` to `closedAt`, are null for a key; `kid` is null for a partner. */
export type AccessEntry = typeof accessLog.$inferSelect

/** The place of the next entry. */
export interface NextEntry {
  id: number
  previousHash: string
}

const columns = {
  kind: 'kind',
  kid: 'kid',
  partner: 'partner',
  name: 'name',
  country: 'country',
  contact: 'contact',
  clientId: 'client_id',
  secretHash: 'secret_hash',
  graceSeconds: 'grace_seconds',
  id: 'id',
  previousHash: 'previous_hash',
  actor: 'actor',
  command: 'command',
  note: 'note',
} as const

/**
 * Makes a change and its entry, in one statement. Times are those of D1's clock. Fails with "another entry came first" when
 * `next` is outdated, with "the partner is closed" when it is, on a unique index when the short name or the client ID is
 * taken, and with "two live secrets" when the secret of an earlier rotation is still valid, unless the grace period is 0.
 */
export function accessChangeStatement(
  change: AccessChange,
  { actor, command, note }: Pick<AccessEntry, 'actor' | 'command' | 'note'>,
  next: NextEntry,
): Statement {
  const values = new Map<string, string | number | null>(Object.entries({ ...change, ...next, actor, command, note }))
  // The HTTP API takes no null as a parameter: a column that is left out is null.
  const fields = Object.entries(columns).flatMap(([field, column]) => {
    const value = values.get(field) ?? null
    return value === null ? [] : [{ column, value }]
  })
  const names = fields.map(({ column }) => column).join(', ')
  return {
    sql: `insert into access_changes (${names}) values (${fields.map(() => '?').join(', ')})`,
    params: fields.map(({ value }) => value),
  }
}

export async function selectNextEntry(db: Database): Promise<NextEntry> {
  const lastHashed = db
    .select({ id: max(accessLog.id) })
    .from(accessLog)
    .where(isNotNull(accessLog.previousHash))
  const latest = await db
    .select()
    .from(accessLog)
    .where(sql`${accessLog.id} >= coalesce((${lastHashed}), 0)`)
    .orderBy(asc(accessLog.id))
  return { id: (latest.at(-1)?.id ?? 0) + 1, previousHash: await hashEntries(latest) }
}

/** @returns the hash that the next entry holds: of the entry before it, with those before that hold no hash. */
export function hashEntries(entries: readonly AccessEntry[]): Promise<string> {
  return hashRecord(
    entries.flatMap((entry) => [
      entry.id,
      entry.changedAt,
      entry.actor,
      entry.command,
      entry.note,
      entry.kind,
      entry.partner,
      entry.name,
      entry.country,
      entry.suspendedAt,
      entry.closedAt,
      entry.kid,
      entry.previousHash,
    ]),
  )
}

export interface EntryFilter {
  /** Only the entries of this partner. */
  shortName?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
}

/** The newest first. */
export function selectPartnerEntries(db: Database, { shortName, since }: EntryFilter): Promise<AccessEntry[]> {
  const ofPartner = shortName === undefined ? isNotNull(accessLog.partner) : eq(accessLog.partner, shortName)
  return selectNewestFirst(db, and(ofPartner, isSince(since)))
}

/** The newest first. */
export function selectKeyEntries(db: Database, { since }: Omit<EntryFilter, 'shortName'>): Promise<AccessEntry[]> {
  return selectNewestFirst(db, and(isNotNull(accessLog.kid), isSince(since)))
}

/** Selects a partner's last entry that is not later than a Unix second. */
export async function selectPartnerEntryAt(
  db: Database,
  shortName: string,
  atSeconds: number,
): Promise<AccessEntry | undefined> {
  const isThen = and(eq(accessLog.partner, shortName), lte(accessLog.changedAt, atSeconds))
  const [entry] = await selectNewestFirst(db, isThen).limit(1)
  return entry
}

export async function selectEntry(db: Database, id: number): Promise<AccessEntry | undefined> {
  const [entry] = await db.select().from(accessLog).where(eq(accessLog.id, id))
  return entry
}

/** Every entry, in the order in which they were made. */
export function selectEntries(db: Database): Promise<AccessEntry[]> {
  return db.select().from(accessLog).orderBy(asc(accessLog.id))
}

/**
 * Selects the short names of partners that were changed without an entry: they are not what their last entry says, or no
 * entry tells where a secret comes from.
 */
export async function selectUnrecordedPartners(db: Database): Promise<string[]> {
  const rows = await db
    .select({ shortName: partners.shortName })
    .from(partners)
    .leftJoin(accessLog, sql`${accessLog.id} = (select max(id) from access_log where partner = ${partners.shortName})`)
    .where(
      or(
        isNull(accessLog.id),
        ne(accessLog.country, partners.country),
        sql`${accessLog.name} is not ${partners.name}`,
        sql`${accessLog.suspendedAt} is not ${partners.suspendedAt}`,
        sql`${accessLog.closedAt} is not ${partners.closedAt}`,
        // A secret is as old as its entry, to the second, or older than the record.
        sql`exists (
          select 1 from partner_secrets as secret
          where secret.partner_id = ${partners.id} and not exists (
            select 1 from access_log as entry
            where entry.partner = ${partners.shortName} and (
              (entry.kind in ('create', 'rotate', 'replace-newest') and entry.changed_at = secret.created_at)
              or (entry.kind = 'recorded' and entry.changed_at >= secret.created_at)
            )
          )
        )`,
      ),
    )
    .orderBy(asc(partners.shortName))
  return rows.map(({ shortName }) => shortName)
}

function selectNewestFirst(db: Database, condition: SQL | undefined) {
  return db.select().from(accessLog).where(condition).orderBy(desc(accessLog.id))
}

function isSince(since: number | undefined): SQL | undefined {
  return since === undefined ? undefined : gte(accessLog.changedAt, since)
}
