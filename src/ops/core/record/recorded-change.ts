// Makes a change of a partner or a signing key once, also when an answer was lost.
import { findChange, type ChangeRequest, type MadeChange } from '../../../db/partner-changes.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { Attribution } from './attribution.ts'

/**
 * @param insert inserts the row of the change, or nothing when it does not apply or was made before.
 * @returns undefined when it did not apply.
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
