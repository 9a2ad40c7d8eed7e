// The record of the catalog, and that of partners and keys: each entry holds the hash of the one before.
import { UserError } from '../shared/user-error.ts'

/** The part of a record that fits. */
export interface VerifiedRecord {
  entryCount: number
  /** What the next entry will hold. Kept elsewhere, it proves later that no entry up to now was changed. */
  hash: string | null
}

interface ChainedEntry {
  id: number
  previousHash: string | null
}

/**
 * @param last names the last entry that was verified.
 * @throws UserError unless the entry is the next one.
 */
export function checkNextEntry(
  { id, previousHash }: ChainedEntry,
  { entryCount, hash }: VerifiedRecord,
  last = `entry ${entryCount}`,
): void {
  if (id !== entryCount + 1) throw refuseRecord(`Entry ${entryCount + 1} of the record is missing.`)
  if (previousHash === hash) return
  const problem =
    entryCount === 0
      ? 'is the first one, and holds a wrong hash'
      : `holds another hash of ${last}. One of them was changed after it was written`
  throw refuseRecord(`Entry ${id} of the record does not fit: it ${problem}.`)
}

/** @returns the error to throw. */
export function refuseRecord(...problems: string[]): UserError {
  return new UserError([...problems, 'Compare the record with a backup.'])
}
