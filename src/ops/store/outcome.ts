// Tracks whether a command has changed something, so that the message of a later failure can say it.
import { describeCommand, type Target } from '../shared/target.ts'
import { isUncertain } from './failure.ts'

/** `unknown`: a change was sent, and no answer came yet, or ever will. */
export type Outcome = 'unchanged' | 'unknown' | 'changed'

/** What is known about the changes of a command. Each store has one tracker. */
export interface OutcomeTracker {
  outcome: Outcome
  /** Whether a partner was marked in the cache before the database answered. */
  isMarked?: boolean
}

/**
 * Makes a change exactly once, and tracks it, even if the store's answer is lost.
 * @param attempt runs a statement that has its effect at most once. It returns what the statement made, or undefined if it had no effect.
 * After a lost answer, the store runs the statement again, which then has no effect.
 * @param find reads what `attempt` made before its answer was lost; undefined if it made nothing.
 * @returns what was made; undefined when the change was not made.
 */
export async function makeTrackedChange<T>(
  changes: OutcomeTracker,
  attempt: () => Promise<T | undefined>,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const before = changes.outcome
  changes.outcome = 'unknown'
  const answer = await attempt().catch(async (error: unknown) => {
    // The statement was refused. But it may have been sent before, and have made the change: its answer was lost.
    if (!isUncertain(error)) {
      const found = await find().catch(() => error)
      if (found !== error) changes.outcome = found === undefined ? before : 'changed'
    }
    throw error
  })
  const made = answer ?? (await find())
  changes.outcome = made === undefined ? before : 'changed'
  return made
}

/** Makes a change outside the database. After a failure, it is unknown whether the change was made. */
export async function makeOutsideChange(changes: OutcomeTracker, change: () => Promise<void>): Promise<void> {
  changes.outcome = 'unknown'
  await change()
  changes.outcome = 'changed'
}

/** @returns the lines that tell the user, after a failure, whether the change was made. */
export function describeOutcome(target: Target, { outcome, isMarked = false }: OutcomeTracker): string[] {
  switch (outcome) {
    case 'unchanged':
      return isMarked ? ['Nothing was changed in the database.'] : []
    case 'changed':
      return ['The change was made: check before you try again, and rotate a secret that was not printed.']
    case 'unknown':
      return [
        'It is not known whether the change was made. A new secret that was not printed is lost: rotate again.',
        `When Cloudflare answers, see: ${describeCommand(target, 'log')}`,
      ]
  }
}
