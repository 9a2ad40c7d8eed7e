// Reads the change record of partners and signing keys.
import { selectEntries, selectNowSeconds, type ChangeEntry, type EntryFilter } from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'

export type { ChangeEntry, EntryFilter }

/** The newest first. Without a short name, those of all partners. */
export function listPartnerEntries({ db }: Store, filter: EntryFilter): Promise<ChangeEntry[]> {
  return selectEntries(db, 'partner', filter)
}

/** The newest first. */
export function listKeyEntries({ db }: Store, filter: EntryFilter = {}): Promise<ChangeEntry[]> {
  return selectEntries(db, 'kid', filter)
}

/** The clock of the database, in Unix seconds. */
export function readDatabaseSeconds({ db }: Store): Promise<number> {
  return selectNowSeconds(db)
}
