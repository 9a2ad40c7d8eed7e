// The record of the catalog, and that of partners and keys: each entry holds the hash of the one before.
import { isJsonObject, parseJson } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'

/** The part of a record that fits. */
export interface VerifiedRecord {
  entryCount: number
  /** What the next entry will hold. Kept elsewhere, it proves later that no entry up to now was changed. */
  hash: string | null
}

/** What the texts call each record. Its key names it in the file of --keep. */
export const recordNames = {
  catalog: 'record of the catalog',
  partners: 'change record of partners and keys',
}
export type RecordKey = keyof typeof recordNames

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

/**
 * Checks each state of a record that grows, from the empty one on, against the one that was kept.
 * @throws UserError when the entries up to the kept one were written again.
 */
export function checkKept({ entryCount, hash }: VerifiedRecord, kept: VerifiedRecord | undefined): void {
  if (entryCount !== kept?.entryCount || hash === kept.hash) return
  throw entryCount === 0
    ? new UserError('The file of --keep has a hash that no empty record has. Name the file that --keep wrote.')
    : refuseRecord(`Entry ${entryCount} of the record, or one before, was changed after its hash was kept.`)
}

/** @throws UserError when entries are gone that the record had when its hash was kept. */
export function checkLength({ entryCount }: VerifiedRecord, kept: VerifiedRecord | undefined): void {
  if (kept === undefined || kept.entryCount <= entryCount) return
  throw refuseRecord(`The record ends with entry ${entryCount}. It had ${kept.entryCount} when its hash was kept.`)
}

/**
 * @param text what --keep wrote, or nothing.
 * @returns undefined for an empty text.
 * @throws UserError when --keep did not write it, or wrote it for another record.
 */
export function parseKept(text: string, expected: RecordKey): VerifiedRecord | undefined {
  if (text === '') return undefined
  const kept = parseJson(text)
  if (isJsonObject(kept)) {
    const { record, entryCount, hash } = kept
    const isHash = typeof hash === 'string' || hash === null
    if (isRecordKey(record) && isEntryCount(entryCount) && isHash) {
      if (record === expected) return { entryCount, hash }
      throw new UserError(
        `The file of --keep has a hash of the ${recordNames[record]}. Name the file that --keep wrote for the ${recordNames[expected]}.`,
      )
    }
  }
  throw new UserError('The file of --keep has no hash of a record. Name the file that --keep wrote.')
}

function isRecordKey(value: unknown): value is RecordKey {
  return typeof value === 'string' && Object.hasOwn(recordNames, value)
}

function isEntryCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** @returns the error to throw. */
export function refuseRecord(...problems: string[]): UserError {
  return new UserError([...problems, 'Compare the record with a backup.'])
}
