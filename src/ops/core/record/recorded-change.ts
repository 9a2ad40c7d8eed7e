// Makes a change of a partner or a signing key, and records it: both are one row.
import { findChange, type ChangeRequest, type MadeChange } from '../../../db/partner-changes.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { Attribution } from './attribution.ts'

/**
 * Makes a change exactly once, even if the database's answer is lost.
 * @param insert inserts the row of the change. It inserts nothing when the change does not apply, such as to a partner that somebody else
 * changed meanwhile, or when the record has the same request already.
 * @returns undefined when the change did not apply.
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
