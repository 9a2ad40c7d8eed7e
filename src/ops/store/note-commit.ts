import { isUncertain } from './failure.ts'
import type { Changes } from './outcome.ts'

/** Runs a statement of `commit`, and notes what became of it. */
export async function noteCommit<T extends { rows: unknown[] }>(
  changes: Changes,
  method: string,
  run: () => Promise<T>,
): Promise<T> {
  const before = changes.outcome
  changes.outcome = 'unknown'
  try {
    const answer = await run()
    changes.outcome = method === 'run' || answer.rows.length > 0 ? 'changed' : before
    return answer
  } catch (error) {
    if (!isUncertain(error)) changes.outcome = before
    throw error
  }
}
