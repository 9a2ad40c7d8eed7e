// What became of the changes of a command: for the message when the store fails, or when the operator stops the command.
import { describeCommand, type Target } from '../shared/target.ts'

/** `unknown`: a change was sent, and its answer is not there yet, or lost. */
export type Outcome = 'unchanged' | 'unknown' | 'changed'

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
    case 'unknown': {
      const [catalog, partner] = ['catalog', 'partner'].map((noun) => describeCommand(target, noun, 'log'))
      const keys = describeCommand(target, 'keys', 'list')
      return `It is not known whether the change was made. When Cloudflare answers, see: ${catalog}, ${partner} or ${keys}. If a new secret was not printed, it is lost: rotate again.`
    }
  }
}
