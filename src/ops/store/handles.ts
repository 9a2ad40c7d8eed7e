import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { isUncertain } from './failure.ts'
import type { Changes } from './outcome.ts'
import type { Store } from './store.ts'

/** Runs a statement. @param method that of drizzle: `run` for one without rows. */
export type Query = (
  sql: string,
  params: unknown[],
  method: string,
  isRepeatable: boolean,
) => Promise<{ rows: unknown[] }>

/** @param changes gets what becomes of each statement of `commit`. */
export function openHandles(query: Query, changes: Changes): Pick<Store, 'read' | 'stage' | 'commit' | 'noteOutcome'> {
  const repeatable = drizzle((sql, params, method) => query(sql, params, method, true))
  const commit = drizzle(async (sql, params, method) => {
    const before = changes.outcome
    changes.outcome = 'unknown'
    try {
      const answer = await query(sql, params, method, false)
      changes.outcome = method === 'run' || answer.rows.length > 0 ? 'changed' : before
      return answer
    } catch (error) {
      if (!isUncertain(error)) changes.outcome = before
      throw error
    }
  })
  return { read: repeatable, stage: repeatable, commit, noteOutcome: (outcome) => void (changes.outcome = outcome) }
}
