// Who changes something, with which command, and why. Every change is recorded with it.
import { throwProblems, UserError } from '../shared/user-error.ts'
import { findLineProblem } from './line-problem.ts'

export interface Attribution {
  /** A person or a program, such as an e-mail address. */
  actor: string
  /** The command line, without `npm run -s ops --`. */
  command: string
  note: string | null
}

const maxActor = 100
const maxNote = 2000
const maxCommand = 500

/** @throws UserError when nobody would make the change, or a text can't be recorded. */
export function checkAttribution({ actor, command, note }: Partial<Attribution> & { command: string }): Attribution {
  if (actor === undefined) {
    throw new UserError('Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.')
  }
  throwProblems([findLineProblem('actor', actor, maxActor), note ? findLineProblem('note', note, maxNote) : undefined])
  return { actor, command: command.slice(0, maxCommand), note: note ?? null }
}
