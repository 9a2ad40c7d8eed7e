// The record of the changes of partners and keys.
import {
  selectKeyEntries,
  selectPartnerEntries,
  type EntryFilter,
  type KeyEntry,
  type PartnerEntry,
} from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'

export type { EntryFilter, KeyEntry, PartnerEntry }

/** Lists the changes of partners, or of keys, the newest first. */
export function listEntries(
  { db }: Store,
  subject: 'partner' | 'kid',
  filter: EntryFilter = {},
): Promise<(PartnerEntry | KeyEntry)[]> {
  return subject === 'kid' ? selectKeyEntries(db, filter) : selectPartnerEntries(db, filter)
}
