// What became of the changes of a command: for the message when the store fails, or when the operator stops the command.
import { describeCommand, type Target } from '../shared/target.ts'

/** `unknown`: a change was sent, and its answer is not there yet, or lost. `incomplete`: a restore began and did not end. */
export type Outcome = 'unchanged' | 'unknown' | 'changed' | 'incomplete'

/** Each command has one. Its store writes it. */
export interface Changes {
  target: Target
  outcome: Outcome
}

export function describeOutcome({ target, outcome }: Changes): string {
  switch (outcome) {
    case 'unchanged':
      return 'Nothing was changed in the database.'
    case 'changed':
      return 'The change was made: check before you try again, and rotate a secret that was not printed.'
    case 'incomplete':
      return 'The restore is not complete. To continue it, run the same command again.'
    case 'unknown': {
      const [catalog, partner] = ['catalog', 'partner'].map((noun) => describeCommand(target, noun, 'log'))
      return `It is not known whether the change was made. When the database answers, see: ${catalog} or ${partner}. If a new secret was not printed, it is lost: rotate again.`
    }
  }
}
