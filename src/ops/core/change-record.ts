// Reads and checks the change record of partners and signing keys.
import {
  hashEntry,
  readEntries,
  selectNewestEntries,
  selectPartnerEntryAt,
  selectUnrecordedPartners,
  type ChangeEntry,
  type EntryFilter,
} from '../../db/change-record-queries.ts'
import { selectNowSeconds } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { formatIsoTime } from './iso-time.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import { checkKept, checkLength, checkNextEntry, refuseRecord, type VerifiedRecord } from './record-chain.ts'
import { UserError } from '../shared/user-error.ts'

export type { ChangeEntry, EntryFilter }

/**
 * The newest first. Without a short name, those of all partners.
 * @throws UserError when there is no such partner.
 */
export async function listPartnerEntries(store: Store, filter: EntryFilter): Promise<ChangeEntry[]> {
  if (filter.shortName !== undefined) await findPartner(store, filter.shortName)
  return selectNewestEntries(store.read, 'partner', filter)
}

/** The newest first. */
export function listKeyEntries({ read }: Store, filter: EntryFilter = {}): Promise<ChangeEntry[]> {
  return selectNewestEntries(read, 'kid', filter)
}

/**
 * Finds the country and the suspension of a partner as they were at the end of a Unix second.
 * @throws UserError when there was no such partner then, or the record lacks its entry.
 */
export async function findPartnerAt(
  store: Store,
  shortName: string,
  atSeconds: number,
): Promise<Pick<Partner, 'shortName' | 'country' | 'suspendedAt' | 'closedAt'>> {
  const { createdAt } = await findPartner(store, shortName)
  const entry = await selectPartnerEntryAt(store.read, shortName, atSeconds)
  if (entry !== undefined && entry.country !== null) {
    return { shortName, country: entry.country, suspendedAt: entry.suspendedAt, closedAt: entry.closedAt }
  }
  const at = formatIsoTime(atSeconds)
  throw new UserError(
    atSeconds < createdAt
      ? `There was no partner ${shortName} at ${at}: it was created at ${formatIsoTime(createdAt)}.`
      : `It is not known what ${shortName} was at ${at}: the record has no entry of it from before.`,
  )
}

/** The clock of the database, in Unix seconds. */
export function readDatabaseSeconds({ read }: Store): Promise<number> {
  return selectNowSeconds(read)
}

/**
 * Computes the chain of hashes again, and compares partners with their last entries.
 * @param kept what was verified earlier.
 * @throws UserError that names the first entry that does not fit, or each partner that was changed without an entry.
 */
export async function verifyChangeRecord({ read }: Store, kept?: VerifiedRecord): Promise<VerifiedRecord> {
  // First: an outdated database fails here. Drizzle's queries would read the names of columns that it lacks as texts.
  const unrecorded = await selectUnrecordedPartners(read)
  let verified: VerifiedRecord = { entryCount: 0, hash: await hashEntry(undefined) }
  checkKept(verified, kept)
  for await (const page of readEntries(read)) {
    for (const entry of page) {
      checkNextEntry(entry, verified)
      verified = { entryCount: entry.id, hash: await hashEntry(entry) }
      checkKept(verified, kept)
    }
  }
  checkLength(verified, kept)
  if (unrecorded.length === 0) return verified
  throw refuseRecord(...unrecorded.map((shortName) => `The partner ${shortName} was changed without an entry.`))
}
