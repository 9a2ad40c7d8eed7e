// Making a change of a partner or a signing key, together with its entry in the record.
import { accessChangeStatement, selectNextEntry, type AccessChange } from '../../db/access-log-queries.ts'
import { isCausedBy } from '../../db/database.ts'
import type { Store } from '../store/store.ts'
import type { Attribution } from './attribution.ts'
import { UserError } from './user-error.ts'

/** Each attempt fails only because another one succeeded. */
const maxAttempts = 10

/**
 * Makes a change and its entry in one statement.
 * @param decide returns undefined when there is nothing to change. Runs again when another change came in between.
 * @returns whether there was a change.
 */
export async function writeRecorded(
  { db, write }: Pick<Store, 'db' | 'write'>,
  attribution: Attribution,
  decide: () => Promise<AccessChange | undefined>,
): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // Before `decide` reads: the entry is refused when anything was changed since.
    const next = await selectNextEntry(db)
    const change = await decide()
    if (change === undefined) return false
    try {
      await write([accessChangeStatement(change, attribution, next)])
      return true
    } catch (error) {
      if (!isCausedBy(error, 'another entry came first')) throw error
    }
  }
  throw new UserError('Other changes of partners and keys came in between each time. Nothing was changed: try again.')
}
