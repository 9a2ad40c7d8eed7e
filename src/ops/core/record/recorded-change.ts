// Changes a partner or a signing key, and records the change in the same row.
import { findChange, type ChangeRequest, type MadeChange } from '../../../db/partner-changes.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { Attribution } from './attribution.ts'

/**
 * Makes a change exactly once, even if the database's answer is lost. @throws the error of `insert`, or of the search for its row.
 * @param insert inserts the row of the change, unless the record has a row of the same request.
 * @returns undefined when the change was not possible any more, for example because somebody else changed the partner meanwhile.
 */
export function recordChange(
  store: Pick<Store, 'db' | 'changes'>,
  attribution: Attribution,
  insert: (db: OperatorDatabase, request: ChangeRequest) => Promise<MadeChange | undefined>,
): Promise<MadeChange | undefined> {
  const request = { ...attribution, requestId: crypto.randomUUID() }
  return makeTrackedChange(
    store.changes,
    () => insert(store.db, request),
    () => findChange(store.db, request.requestId),
  )
}
