import { createDatabase, type Statement } from '../../db/database.ts'
import { isUncertain } from './failure.ts'
import type { Changes } from './outcome.ts'
import type { Store } from './store.ts'

/** Runs a statement. @param method `run` for one without rows. */
export type Query = <Row extends unknown[]>(
  sql: string,
  params: unknown[],
  method: string,
  isRepeatable: boolean,
) => Promise<Row[]>

/** @param changes gets what becomes of each statement of `commit`. */
export function openHandles(query: Query, changes: Changes): Pick<Store, 'read' | 'stage' | 'commit' | 'noteOutcome'> {
  const repeatable = createDatabase(({ sql, params }, method) => query(sql, params, method, true))
  const commit = createDatabase(async <Row extends unknown[]>({ sql, params }: Statement, method: string) => {
    const before = changes.outcome
    changes.outcome = 'unknown'
    try {
      const rows = await query<Row>(sql, params, method, false)
      changes.outcome = method === 'run' || rows.length > 0 ? 'changed' : before
      return rows
    } catch (error) {
      if (!isUncertain(error)) changes.outcome = before
      throw error
    }
  })
  return { read: repeatable, stage: repeatable, commit, noteOutcome: (outcome) => void (changes.outcome = outcome) }
}
