// SQL that reads partners and the change record as operators see them. partner-changes.ts changes them, client-queries.ts is the
// Worker's. Only `selectStoredSecrets` selects hashes.
import { and, sql, type SQL } from 'drizzle-orm'
import { selectObjects, type Database } from './database.ts'
import { readAll } from './pages.ts'

/** Times are Unix seconds; `expiresAt` is null while the secret is the current one. */
export interface LiveSecret {
  createdAt: number
  expiresAt: number | null
}

/**
 * A partner as operators see it. Times are Unix seconds. A closed partner is also suspended. Tokens that were issued before
 * `tokensValidFrom` are refused.
 */
export interface Partner {
  /** The ID of the partner's newest row, which a change names. */
  changeId: number
  shortName: string
  name: string
  country: string
  clientId: string
  createdAt: number
  suspendedAt: number | null
  closedAt: number | null
  tokensValidFrom: number | null
  contact: string | null
  /** The oldest first. */
  secrets: LiveSecret[]
  /** When the grace period of the secret before them ended; null when it had none. */
  secretEndedAt: number | null
}

const partnerColumns =
  'change_id, short_name, name, country, client_id, created_at, suspended_at, closed_at, tokens_valid_from, contact, secrets, ' +
  'secret_ended_at'

const newestIds = sql`(select max(id) from change_record where partner is not null group by partner)`

/** The secrets of a row that are still valid by D1's clock. */
const liveSecrets = sql`json_each(change_record.secrets) where coalesce(value ->> '$.expiresAt' > unixepoch(), 1)`

export function selectPartners(db: Database): Promise<Partner[]> {
  return selectRows(db, sql`where change_id in ${newestIds} order by short_name`)
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds as it was at the end of that Unix second, except for its contact and its secrets.
 */
export async function selectPartner(db: Database, name: string, atSeconds?: number): Promise<Partner | undefined> {
  const wasMade = atSeconds === undefined ? undefined : sql`changed_at <= ${atSeconds}`
  const shortName = sql`coalesce((select partner from change_record where client_id = ${name} limit 1), ${name})`
  const isWanted = and(sql`short_name = ${shortName}`, wasMade)
  const [found] = await selectRows(db, sql`where ${isWanted} order by change_id desc limit 1`)
  return found
}

async function selectRows(db: Database, condition: SQL): Promise<Partner[]> {
  const rows = await selectObjects<Omit<Partner, 'secrets'> & { secrets: string }>(
    db,
    partnerColumns,
    sql`
      from (
        select id as change_id, changed_at, partner as short_name, name, country, client_id, created_at, suspended_at, closed_at,
          tokens_valid_from, (select contact from partner_contacts where partner = change_record.partner) as contact,
          (select json_group_array(json_remove(value, '$.hash')) from ${liveSecrets}) as secrets,
          (select max(value ->> '$.expiresAt') from json_each(secrets) where value ->> '$.expiresAt' <= unixepoch()) as secret_ended_at
        from change_record
      ) ${condition}`,
  )
  return rows.map((row) => Object.assign(row, { secrets: JSON.parse(row.secrets) }))
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
    sql`select value, partner from change_record, ${liveSecrets} and change_record.id in ${newestIds}
      order by change_record.id, json_each.key`,
  )
  return rows.map(([json, shortName]) => {
    const { hash, ...secret }: LiveSecret & { hash: string } = JSON.parse(json)
    return { hash, secret, shortName }
  })
}

/** A change of a partner, which has the partner after it, or of a key, which has a `kid`. */
export interface ChangeEntry {
  id: number
  changedAt: number
  actor: string
  command: string
  note: string | null
  kind: string
  kid: string | null
  partner: string | null
  name: string | null
  country: string | null
  clientId: string | null
  createdAt: number | null
  suspendedAt: number | null
  closedAt: number | null
  tokensValidFrom: number | null
}

const entryColumns =
  'id, changed_at, actor, command, note, kind, kid, partner, name, country, client_id, created_at, suspended_at, closed_at, ' +
  'tokens_valid_from'

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
  { shortName, since = 0 }: EntryFilter,
): Promise<ChangeEntry[]> {
  const ofSubject = shortName === undefined ? sql`${sql.raw(subject)} is not null` : sql`partner = ${shortName}`
  return readAll<ChangeEntry>((last, limit) => {
    const isNext = sql`id < ${last?.id ?? Number.MAX_SAFE_INTEGER}`
    const source = sql`from change_record where ${ofSubject} and changed_at >= ${since} and ${isNext} order by id desc`
    return selectObjects(db, entryColumns, sql`${source} limit ${limit}`)
  })
}

/** D1's clock, in Unix seconds. */
export async function selectNowSeconds(db: Database): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch()`)
  if (row === undefined) throw new Error('D1 returned no row')
  return row[0]
}
