// The record of the changes of partners and keys.
import { selectEntries, type KeyEntry, type PartnerEntry } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'

export type { KeyEntry, PartnerEntry }

/** Which entries: those of one partner, and since a Unix second. */
export interface EntryFilter {
  shortName?: string | undefined
  since?: number | undefined
}

/** Lists the changes of partners, or of keys, the newest first. */
export function listEntries(
  { db }: Store,
  subject: 'partner' | 'kid',
  filter: EntryFilter = {},
): Promise<(PartnerEntry | KeyEntry)[]> {
  return selectEntries(db, subject, filter)
}
