// SQL for the change record of partners and signing keys: see migrations/0001 and 0004.
import { and, asc, desc, eq, gt, gte, isNotNull, lt, lte, sql, type SQL } from 'drizzle-orm'
import type { ChangeRequest } from './change-request.ts'
import type { Database } from './database.ts'
import { hashRecord, hashText } from './record-hash.ts'
import { readAll, readPages } from './pages.ts'
import { changeRecord } from './schema.ts'

/**
 * The fields of a partner are null for a key; `kid` is null for a partner. `clientId`, `secretFingerprint` and `tokensValidFrom`
 * are null in entries from before migrations/0004.
 */
export type ChangeEntry = typeof changeRecord.$inferSelect

/** The place of the next entry. */
export interface NextEntry {
  id: number
  previousHash: string
}

/**
 * Which columns the hash of an entry covers: see hashEntry. The database refuses an entry with another version or none, because
 * the command line that makes it would hash the entry before wrongly.
 */
const recordVersion = 2

/**
 * Makes a change and its entry, in one statement. Times are those of D1's clock. Is refused with `entry_order` when `next` is
 * outdated, with `partner_closed` when the partner is closed, and with `two_live_secrets` when the secret of an earlier
 * rotation is still valid, unless the grace period is 0. Fails on a unique index when the short name or the client ID is taken.
 */
export async function buildChangeStatement(
  change: ChangeRequest,
  { actor, command, note }: Pick<ChangeEntry, 'actor' | 'command' | 'note'>,
  next: NextEntry,
): Promise<SQL> {
  const secretFingerprint = 'secretHash' in change ? await hashText(change.secretHash) : null
  // The HTTP API takes no null as a parameter: a column that is left out is null.
  const fields = Object.entries({ ...change, ...next, secretFingerprint, recordVersion, actor, command, note }).filter(
    ([, value]) => value !== null,
  )
  const columns = fields.map(([field]) => sql.raw(field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)))
  const values = fields.map(([, value]) => sql`${value}`)
  return sql`insert into change_requests (${sql.join(columns, sql`, `)}) values (${sql.join(values, sql`, `)})`
}

export async function selectNextEntry(db: Database): Promise<NextEntry> {
  const last = await selectLast(db)
  return { id: (last?.id ?? 0) + 1, previousHash: await hashEntry(last) }
}

/** @returns the hash that the next entry holds; without an entry, the hash that the first one holds. */
export function hashEntry(entry: ChangeEntry | undefined): Promise<string> {
  if (entry === undefined) return hashRecord([])
  const { id, changedAt, actor, command, note, kind, kid, previousHash } = entry
  const { partner, name, country, suspendedAt, closedAt, clientId, secretFingerprint, tokensValidFrom } = entry
  const ofPartner = [partner, name, country, suspendedAt, closedAt]
  // Entries from before these columns, in which all are null, keep their hash.
  const added = [clientId, secretFingerprint, tokensValidFrom]
  const later = added.every((value) => value === null) ? [] : added
  return hashRecord([id, changedAt, actor, command, note, kind, ...ofPartner, kid, previousHash, ...later])
}

export interface EntryFilter {
  /** Only the entries of this partner. */
  shortName?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
}

/** Selects the entries of partners, or of keys, the newest first. */
export function selectNewestEntries(
  db: Database,
  subject: 'partner' | 'kid',
  { shortName, since }: EntryFilter,
): Promise<ChangeEntry[]> {
  const ofSubject = shortName === undefined ? isNotNull(changeRecord[subject]) : eq(changeRecord.partner, shortName)
  const isRecent = since === undefined ? undefined : gte(changeRecord.changedAt, since)
  return readAll((last, limit) =>
    db
      .select()
      .from(changeRecord)
      .where(and(ofSubject, isRecent, last && lt(changeRecord.id, last.id)))
      .orderBy(desc(changeRecord.id))
      .limit(limit),
  )
}

/** Reads all entries in the order in which they were made, in pages. */
export function readEntries(db: Database): AsyncGenerator<ChangeEntry[]> {
  return readPages((last, limit) =>
    db
      .select()
      .from(changeRecord)
      .where(gt(changeRecord.id, last?.id ?? 0))
      .orderBy(asc(changeRecord.id))
      .limit(limit),
  )
}

/** Selects a partner's last entry that is not later than a Unix second. */
export function selectPartnerEntryAt(
  db: Database,
  shortName: string,
  atSeconds: number,
): Promise<ChangeEntry | undefined> {
  return selectLast(db, and(eq(changeRecord.partner, shortName), lte(changeRecord.changedAt, atSeconds)))
}

export function selectEntry(db: Database, id: number): Promise<ChangeEntry | undefined> {
  return selectLast(db, eq(changeRecord.id, id))
}

async function selectLast(db: Database, condition?: SQL): Promise<ChangeEntry | undefined> {
  const [entry] = await db.select().from(changeRecord).where(condition).orderBy(desc(changeRecord.id)).limit(1)
  return entry
}

/**
 * Selects the short names of partners that were changed without an entry: they are not what their entries say, or no entry
 * made a stored secret. The current secret must be of the last entry that made one. An older one works after a rotation only,
 * and of no entry before a lockdown. Entries from before migrations/0004 have neither client ID nor fingerprint: a client ID
 * that was replaced before the next entry, or a secret that replaced another of the same second, is not found.
 */
export async function selectUnrecordedPartners(db: Database): Promise<string[]> {
  const rows = await db.values<SecretRow>(sql`
    with makers as (
      select id, partner, changed_at, secret_fingerprint,
        lead(kind) over (partition by partner order by id) as next_kind,
        lead(id) over (partition by partner order by id) as next_id,
        max(iif(kind in ('rotate', 'lockdown'), id, 0)) over (partition by partner) as last_end_id,
        -- Whether it, or an entry before it, has a fingerprint.
        max(secret_fingerprint) over (partition by partner order by id) is not null as is_fingerprinted
      from change_record
      where kind in ('create', 'rotate', 'replace-newest', 'lockdown')
    )
    select partners.short_name,
      (last.name, last.country, last.suspended_at, last.closed_at, last.tokens_valid_from)
        is (partners.name, partners.country, partners.suspended_at, partners.closed_at, partners.tokens_valid_from)
        and partners.client_id = coalesce(
          (select client_id from change_record where partner = short_name and client_id is not null order by id desc limit 1),
          partners.client_id
        ),
      secret.id, secret.hash, maker.id, maker.is_fingerprinted, maker.secret_fingerprint
    from partners
    left join change_record as last on last.id = (select max(id) from change_record where partner = short_name)
    left join partner_secrets as secret on secret.partner_id = partners.id
    left join makers as maker
      on maker.partner = partners.short_name and maker.changed_at = secret.created_at
      and iif(secret.expires_at is null, next_kind is null, next_kind = 'rotate' and next_id = last_end_id)
    order by partners.short_name`)
  const recorded = new Set<number | null>([null])
  for (const [, , secretId, hash, makerId, isFingerprinted, fingerprint] of rows) {
    if (hash === null || makerId === null) continue
    if (!isFingerprinted || fingerprint === (await hashText(hash))) recorded.add(secretId)
  }
  const unrecorded = rows.filter(([, isAsRecorded, secretId]) => !isAsRecorded || !recorded.has(secretId))
  return [...new Set(unrecorded.map(([shortName]) => shortName))]
}

/** A partner, with a secret if it has one, and an entry that may have made the secret. */
type SecretRow = [
  shortName: string,
  isAsRecorded: number,
  secretId: number | null,
  hash: string | null,
  makerId: number | null,
  isFingerprinted: number | null,
  fingerprint: string | null,
]
