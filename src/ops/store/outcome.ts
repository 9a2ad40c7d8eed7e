// Tracks whether a command has changed something, so that the message of a later failure can tell the user.
import { describeCommand, type Target } from '../shared/target.ts'
import { isUncertain } from './failure.ts'

/** `unknown`: the command has sent a change, and no answer says so far whether the change was made. */
export type Outcome = 'unchanged' | 'unknown' | 'changed'

/** Says whether a command has changed something so far. Each store has one tracker. */
export interface OutcomeTracker {
  outcome: Outcome
  /** True if the command wrote the mark of a partner into KV, or tried to, before the database answered. */
  isMarked?: boolean
}

/**
 * Makes a change once, and sets `changes.outcome`. If an answer is lost, the store repeats `attempt` by itself, and `find` shows whether an
 * earlier attempt made the change. Both return the made change, or undefined if there is none.
 * @throws the error of `attempt`, or of `find` after an `attempt` without a change.
 */
export async function makeTrackedChange<T>(
  changes: OutcomeTracker,
  attempt: () => Promise<T | undefined>,
  find: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const outcomeBefore = changes.outcome
  const setOutcome = (change: T | undefined) => {
    changes.outcome = change === undefined ? outcomeBefore : 'changed'
    return change
  }
  changes.outcome = 'unknown'
  const answer = await attempt().catch(async (error: unknown) => {
    // The last attempt was refused, but an earlier one, whose answer was lost, may have made the change. The outcome stays unknown if
    // `find` fails, too.
    if (!isUncertain(error)) await find().then(setOutcome, () => {})
    throw error
  })
  return setOutcome(answer ?? (await find()))
}

/** Makes a change outside the database, and sets `changes.outcome`: `unknown` if `change` throws. */
export async function makeOutsideChange(changes: OutcomeTracker, change: () => Promise<void>): Promise<void> {
  changes.outcome = 'unknown'
  await change()
  changes.outcome = 'changed'
}

/** @returns what the command may have changed, and what to do next: lines of the error of a command that failed. Empty when nothing was changed. */
export function describeOutcome(target: Target, { outcome, isMarked = false }: OutcomeTracker): string[] {
  switch (outcome) {
    case 'unchanged':
      return isMarked ? ['Nothing was changed in the database.'] : []
    case 'changed':
      return [
        'The change was made. A new client secret that was not printed is lost: replace it with partner rotate.',
        `Before you repeat the command, see: ${describeCommand(target, 'log')}`,
      ]
    case 'unknown':
      return [
        'It is not known whether the change was made. A new client secret that was not printed is lost.',
        'If the log lacks the change, repeat the command. If the log has the change, replace a lost secret with partner rotate.',
        `When Cloudflare answers, see: ${describeCommand(target, 'log')}`,
      ]
  }
}
