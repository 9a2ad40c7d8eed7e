// Reads the change record of partners and signing keys.
import {
  selectEntries,
  selectNowSeconds,
  selectPartner,
  type ChangeEntry,
  type EntryFilter,
} from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'
import { formatIsoTime } from './iso-time.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import { UserError } from '../shared/user-error.ts'

export type { ChangeEntry, EntryFilter }

/**
 * The newest first. Without a short name, those of all partners.
 * @throws UserError when there is no such partner.
 */
export async function listPartnerEntries(store: Store, filter: EntryFilter): Promise<ChangeEntry[]> {
  if (filter.shortName !== undefined) await findPartner(store, filter.shortName)
  return selectEntries(store.read, 'partner', filter)
}

/** The newest first. */
export function listKeyEntries({ read }: Store, filter: EntryFilter = {}): Promise<ChangeEntry[]> {
  return selectEntries(read, 'kid', filter)
}

/**
 * Finds a partner as it was at the end of a Unix second, except for its contact and its secrets.
 * @throws UserError when there was no such partner then.
 */
export async function findPartnerAt(store: Store, shortName: string, atSeconds: number): Promise<Partner> {
  const { createdAt } = await findPartner(store, shortName)
  const partner = await selectPartner(store.read, shortName, atSeconds)
  if (partner) return partner
  throw new UserError(
    `There was no partner ${shortName} at ${formatIsoTime(atSeconds)}: it was created at ${formatIsoTime(createdAt)}.`,
  )
}

/** The clock of the database, in Unix seconds. */
export function readDatabaseSeconds({ read }: Store): Promise<number> {
  return selectNowSeconds(read)
}
