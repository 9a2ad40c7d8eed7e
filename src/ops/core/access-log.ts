// The record of changes of partners and signing keys: reading and checking it.
import {
  hashEntries,
  selectEntries,
  selectKeyEntries,
  selectPartnerEntries,
  selectPartnerEntryAt,
  selectUnrecordedPartners,
  type AccessEntry,
  type EntryFilter,
} from '../../db/access-log-queries.ts'
import { selectNowSeconds } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { formatIsoTime } from './iso-time.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import { UserError } from './user-error.ts'

export type { AccessEntry }

/**
 * The newest first. Without a short name, those of all partners.
 * @throws UserError when there is no such partner.
 */
export async function listPartnerEntries(store: Store, filter: EntryFilter): Promise<AccessEntry[]> {
  const { shortName } = filter
  if (shortName !== undefined) await findPartner(store, shortName)
  return selectPartnerEntries(store.db, filter)
}

/** The newest first. */
export function listKeyEntries({ db }: Store, filter: Omit<EntryFilter, 'shortName'>): Promise<AccessEntry[]> {
  return selectKeyEntries(db, filter)
}

/**
 * Finds the country and the suspension of a partner as they were at the end of a Unix second.
 * @throws UserError when there was no such partner then, or the record does not reach back that far.
 */
export async function findPartnerAt(
  store: Store,
  shortName: string,
  atSeconds: number,
): Promise<Pick<Partner, 'shortName' | 'country' | 'suspendedAt' | 'closedAt'>> {
  const { createdAt } = await findPartner(store, shortName)
  const entry = await selectPartnerEntryAt(store.db, shortName, atSeconds)
  if (entry !== undefined && entry.country !== null) {
    return { shortName, country: entry.country, suspendedAt: entry.suspendedAt, closedAt: entry.closedAt }
  }
  if (atSeconds < createdAt) {
    throw new UserError(
      `There was no partner ${shortName} at ${formatIsoTime(atSeconds)}: it was created at ${formatIsoTime(createdAt)}.`,
    )
  }
  const first = (await selectPartnerEntries(store.db, { shortName })).at(-1)
  const start = first === undefined ? 'has no entry' : `starts at ${formatIsoTime(first.changedAt)}`
  throw new UserError(`It is not known what ${shortName} was at ${formatIsoTime(atSeconds)}: its record ${start}.`)
}

/** The clock of the database, in Unix seconds. */
export function readDatabaseSeconds({ db }: Store): Promise<number> {
  return selectNowSeconds(db)
}

export interface VerifiedLog {
  entryCount: number
  /** What the next entry will hold. Kept elsewhere, it proves later that no entry up to now was changed. */
  hash: string
}

/**
 * Computes the chain of hashes again, and compares partners with their last entries.
 * @throws UserError that names the first entry that does not fit, or each partner that was changed without an entry.
 */
export async function verifyAccessLog({ db }: Store): Promise<VerifiedLog> {
  const entries = await selectEntries(db)
  let unhashed: AccessEntry[] = []
  for (const [index, entry] of entries.entries()) {
    if (entry.id !== index + 1) throw new UserError(`Entry ${index + 1} of the record is missing.`)
    if (entry.previousHash !== null) {
      if (entry.previousHash !== (await hashEntries(unhashed))) throw new UserError(describeMismatch(unhashed, entry))
      unhashed = []
    }
    unhashed.push(entry)
  }
  const unrecorded = await selectUnrecordedPartners(db)
  if (unrecorded.length > 0) {
    throw new UserError(unrecorded.map((shortName) => `The partner ${shortName} was changed without an entry.`))
  }
  return { entryCount: entries.length, hash: await hashEntries(unhashed) }
}

function describeMismatch(unhashed: readonly AccessEntry[], { id }: AccessEntry): string {
  const [first, last] = [unhashed.at(0)?.id, unhashed.at(-1)?.id]
  if (first === undefined) return `Entry ${id} of the record does not fit: it is the first one, and holds a wrong hash.`
  const before = first === last ? `entry ${first}` : `entries ${first} to ${last}`
  return `Entry ${id} of the record does not fit: it holds another hash of ${before}. One of them was changed after it was written.`
}
