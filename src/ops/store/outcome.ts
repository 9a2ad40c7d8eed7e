// What became of the changes of a command: for the message when the store fails, or when the operator stops the command.
import { describeCommand, type Target } from '../shared/target.ts'

/** The entry of a change of the signing keys is in the record, and the change may not be complete. */
export interface RecordedKeyChange {
  change: 'rotation' | 'drop'
  kid: string
}

/** `unknown`: a change was sent, and its answer is not there yet, or lost. */
export type Outcome = 'unchanged' | 'unknown' | 'changed' | RecordedKeyChange

/** Each command has one. Its store writes it. */
export interface Changes {
  target: Target
  outcome: Outcome
}

export function describeOutcome({ target, outcome }: Changes): string {
  if (typeof outcome === 'object') {
    const { change, kid } = outcome
    const list = describeCommand(target, 'keys', 'list')
    const retry = change === 'rotation' ? 'rotate again' : 'drop the key again if it is still there'
    return `The record shows a ${change} of ${kid} that may not be complete: see \`${list}\`, and ${retry}.`
  }
  switch (outcome) {
    case 'unchanged':
      return 'Nothing was changed in the database.'
    case 'changed':
      return 'The change was made: check before you try again, and rotate a secret that was not printed.'
    case 'unknown': {
      const [catalog, partner] = ['catalog', 'partner'].map((noun) => describeCommand(target, noun, 'log'))
      return `It is not known whether the change was made. When the database answers, see: ${catalog} or ${partner}. If a new secret was not printed, it is lost: rotate again.`
    }
  }
}
