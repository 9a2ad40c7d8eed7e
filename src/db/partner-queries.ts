// SQL that reads partners and the change record as operators see them. partner-changes.ts changes them, client-queries.ts is the
// Worker's. Only `selectStoredSecrets` selects hashes.
import { and, sql, type SQL } from 'drizzle-orm'
import { parseTrusted } from '../json.ts'
import { selectObjects, type Database } from './database.ts'
import { readAll } from './pages.ts'
import { partnerColumns } from './partner-changes.ts'

/** Times are Unix seconds; `expiresAt` is null while the secret is the current one. */
export interface LiveSecret {
  createdAt: number
  expiresAt: number | null
}

/** A partner after a change. A closed one is also suspended. Tokens that were issued before `tokensValidFrom` are refused. */
interface PartnerRow {
  id: number
  shortName: string
  name: string
  country: string
  clientId: string
  createdAt: number
  suspendedAt: number | null
  closedAt: number | null
  tokensValidFrom: number | null
}

/** A partner as operators see it: its newest row, whose ID a change names. */
export interface Partner extends PartnerRow {
  contact: string | null
  /** The oldest first. */
  secrets: LiveSecret[]
  /** When the grace period of the secret before them ended; null when it had none. */
  secretEndedAt: number | null
}

interface Change {
  id: number
  changedAt: number
  actor: string
  command: string
  note: string | null
  kind: string
}

export type PartnerEntry = Change & PartnerRow
export type KeyEntry = Change & { kid: string }

const rowColumns = ['id', 'partner as short_name', ...partnerColumns]
const changeColumns = ['changed_at', 'actor', 'command', 'note', 'kind']
const entryColumns = { partner: [...rowColumns, ...changeColumns], kid: ['id', 'kid', ...changeColumns] }

/** The secrets of a row that are still valid by D1's clock. */
const liveSecrets = `json_each(change_record.secrets) where coalesce(value ->> '$.expiresAt' > unixepoch(), 1)`
const endedSecrets = `json_each(change_record.secrets) where value ->> '$.expiresAt' <= unixepoch()`

const newestIds = sql`(select max(id) from change_record where partner is not null group by partner)`

export function selectPartners(db: Database): Promise<Partner[]> {
  return selectRows(db, sql`where id in ${newestIds} order by partner`)
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds as it was at the end of that Unix second, except for its contact and its secrets.
 */
export async function selectPartner(db: Database, name: string, atSeconds?: number): Promise<Partner | undefined> {
  const wasMade = atSeconds === undefined ? undefined : sql`changed_at <= ${atSeconds}`
  const isWanted = sql`partner = coalesce((select partner from change_record where client_id = ${name} limit 1), ${name})`
  const [found] = await selectRows(db, sql`where ${and(isWanted, wasMade)} order by id desc limit 1`)
  return found
}

async function selectRows(db: Database, condition: SQL): Promise<Partner[]> {
  const columns = [
    ...rowColumns,
    '(select contact from partner_contacts where partner = change_record.partner) as contact',
    `(select json_group_array(json_remove(value, '$.hash')) from ${liveSecrets}) as secrets`,
    `(select max(value ->> '$.expiresAt') from ${endedSecrets}) as secret_ended_at`,
  ]
  type Row = Omit<Partner, 'secrets'> & { secrets: string }
  const rows = await selectObjects<Row>(db, columns, sql`from change_record ${condition}`)
  return rows.map((row) => Object.assign(row, { secrets: parseTrusted<LiveSecret[]>(row.secrets) }))
}

/** Selects the secrets of all partners that are still valid by D1's clock, with their hashes. */
export async function selectStoredSecrets(db: Database): Promise<(LiveSecret & { hash: string; shortName: string })[]> {
  const rows = await db.values<[secret: string, shortName: string]>(
    sql`select value, partner from change_record, ${sql.raw(liveSecrets)} and change_record.id in ${newestIds}
      order by change_record.id, json_each.key`,
  )
  return rows.map(([json, shortName]) =>
    Object.assign(parseTrusted<LiveSecret & { hash: string }>(json), { shortName }),
  )
}

/** Selects the changes of partners, or of keys, the newest first. @param since Unix seconds. */
export function selectEntries<Subject extends 'partner' | 'kid'>(
  db: Database,
  subject: Subject,
  { shortName, since = 0 }: { shortName?: string | undefined; since?: number | undefined } = {},
): Promise<{ partner: PartnerEntry; kid: KeyEntry }[Subject][]> {
  const ofSubject = shortName === undefined ? sql`${sql.raw(subject)} is not null` : sql`partner = ${shortName}`
  return readAll(
    (last: number | undefined, limit) => {
      const isNext = sql`id < ${last ?? Number.MAX_SAFE_INTEGER}`
      const source = sql`from change_record where ${ofSubject} and changed_at >= ${since} and ${isNext} order by id desc`
      return selectObjects<{ partner: PartnerEntry; kid: KeyEntry }[Subject]>(
        db,
        entryColumns[subject],
        sql`${source} limit ${limit}`,
      )
    },
    ({ id }) => id,
  )
}

/** D1's clock, in Unix seconds. */
export async function selectNowSeconds(db: Database): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch()`)
  if (row === undefined) throw new Error('D1 returned no row')
  return row[0]
}
