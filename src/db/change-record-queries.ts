// SQL for the change record of partners and signing keys: see migrations/0001_partners_and_keys.sql.
import { changeRecord } from './schema.ts'
import { and, asc, desc, eq, gt, gte, isNotNull, lte, sql, type SQL } from 'drizzle-orm'
import type { Database, Statement } from './database.ts'
import { hashRecord } from './record-hash.ts'
import { readPages } from './pages.ts'

export type KeyChangeKind = 'keys-rotate' | 'keys-rotate-failed' | 'keys-drop' | 'keys-drop-failed'

/** A change of a partner, or of a signing key, which is not in the database: only its entry is. */
export type ChangeRequest =
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
export type ChangeEntry = typeof changeRecord.$inferSelect

/** The place of the next entry. */
export interface NextEntry {
  id: number
  previousHash: string
}

/**
 * Makes a change and its entry, in one statement. Times are those of D1's clock. Is refused with `entry_order` when `next` is
 * outdated, with `partner_closed` when the partner is closed, and with `two_live_secrets` when the secret of an earlier
 * rotation is still valid, unless the grace period is 0. Fails on a unique index when the short name or the client ID is taken.
 */
export function buildChangeStatement(
  change: ChangeRequest,
  { actor, command, note }: Pick<ChangeEntry, 'actor' | 'command' | 'note'>,
  next: NextEntry,
): Statement {
  // The HTTP API takes no null as a parameter: a column that is left out is null.
  const fields = Object.entries({ ...change, ...next, actor, command, note }).filter(([, value]) => value !== null)
  const columns = fields.map(([field]) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  return {
    sql: `insert into change_requests (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    params: fields.map(([, value]) => value),
  }
}

export async function selectNextEntry(db: Database): Promise<NextEntry> {
  const [last] = await db.select().from(changeRecord).orderBy(desc(changeRecord.id)).limit(1)
  return { id: (last?.id ?? 0) + 1, previousHash: await hashEntry(last) }
}

/** @returns the hash that the next entry holds; without an entry, the hash that the first one holds. */
export function hashEntry(entry: ChangeEntry | undefined): Promise<string> {
  return hashRecord(
    entry === undefined
      ? []
      : [
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
        ],
  )
}

export interface EntryFilter {
  /** Only the entries of this partner. */
  shortName?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
}

/** Without a short name, those of all partners. */
export function selectPartnerEntries(db: Database, { shortName, since }: EntryFilter): AsyncGenerator<ChangeEntry> {
  const ofPartner = shortName === undefined ? isNotNull(changeRecord.partner) : eq(changeRecord.partner, shortName)
  return selectEntries(db, and(ofPartner, isSince(since)))
}

export function selectKeyEntries(db: Database, { since }: Omit<EntryFilter, 'shortName'>): AsyncGenerator<ChangeEntry> {
  return selectEntries(db, and(isNotNull(changeRecord.kid), isSince(since)))
}

/** Selects entries in the order in which they were made, in pages. */
export async function* selectEntries(db: Database, condition?: SQL): AsyncGenerator<ChangeEntry> {
  const pages = readPages<ChangeEntry>((last, limit) =>
    db
      .select()
      .from(changeRecord)
      .where(and(gt(changeRecord.id, last?.id ?? 0), condition))
      .orderBy(asc(changeRecord.id))
      .limit(limit),
  )
  for await (const page of pages) yield* page
}

/** Selects a partner's last entry that is not later than a Unix second. */
export async function selectPartnerEntryAt(
  db: Database,
  shortName: string,
  atSeconds: number,
): Promise<ChangeEntry | undefined> {
  const [entry] = await db
    .select()
    .from(changeRecord)
    .where(and(eq(changeRecord.partner, shortName), lte(changeRecord.changedAt, atSeconds)))
    .orderBy(desc(changeRecord.id))
    .limit(1)
  return entry
}

export async function selectEntry(db: Database, id: number): Promise<ChangeEntry | undefined> {
  const [entry] = await db.select().from(changeRecord).where(eq(changeRecord.id, id))
  return entry
}

/**
 * Selects the short names of partners that were changed without an entry: they are not what their last entry says, or no
 * entry tells where a secret comes from.
 */
export async function selectUnrecordedPartners(db: Database): Promise<string[]> {
  // A secret is as old as its entry, to the second.
  const rows = await db.values<[string]>(sql`
    select partners.short_name from partners
    left join change_record as last on last.id = (select max(id) from change_record where partner = short_name)
    where (last.name, last.country, last.suspended_at, last.closed_at)
        is not (partners.name, partners.country, partners.suspended_at, partners.closed_at)
      or exists (
        select 1 from partner_secrets as secret
        where secret.partner_id = partners.id and not exists (
          select 1 from change_record as entry
          where entry.partner = partners.short_name and entry.changed_at = secret.created_at
            and entry.kind in ('create', 'rotate', 'replace-newest')
        )
      )
    order by partners.short_name`)
  return rows.map(([shortName]) => shortName)
}

function isSince(since: number | undefined): SQL | undefined {
  return since === undefined ? undefined : gte(changeRecord.changedAt, since)
}
