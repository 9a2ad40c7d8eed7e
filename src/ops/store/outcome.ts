// Tracks whether a command has changed something, for the message when the store fails.
import { describeCommand, type Target } from '../shared/target.ts'
import { isUncertain } from './failure.ts'

/** `unknown`: a change was sent, and has no answer yet, or its answer is lost. */
export type Outcome = 'unchanged' | 'unknown' | 'changed'

/** Each store has one. */
export interface OutcomeTracker {
  outcome: Outcome
  /** Whether a mark was written to the cache before the database answered. */
  isMarked?: boolean
}

/**
 * Makes a change by a statement that has its effect at most once.
 * @param attempt returns undefined when the statement had no effect: also when the store repeated it after a lost answer.
 * @param find finds what an earlier attempt made.
 * @returns undefined when nothing made the change.
 */
export async function makeTrackedChange<T>(
  changes: OutcomeTracker,
  attempt: () => Promise<T | undefined>,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const before = changes.outcome
  changes.outcome = 'unknown'
  const answer = await attempt().catch(async (error: unknown) => {
    // The refused call had no effect, but an earlier call of this attempt may have made the change.
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

/** @returns the lines of a message about a failure that say what became of the change. */
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
