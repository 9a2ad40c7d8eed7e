// Who changes something, with which command, and why. Every change is recorded with it.
import type { Target } from '../shared/target.ts'
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

/**
 * @param found the actor that the environment names, if any.
 * @throws UserError when a deployed environment would be changed by nobody, or a text can't be recorded.
 */
export function checkAttribution(
  { remote, as, note }: Target & { as?: string; note?: string },
  command: string,
  found: string | undefined,
): Attribution {
  const actor = as ?? found ?? (remote ? undefined : 'local')
  if (actor === undefined) {
    throw new UserError('Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.')
  }
  throwProblems([
    findLineProblem('actor', actor, maxActor),
    note === undefined ? undefined : findLineProblem('note', note, maxNote),
  ])
  return { actor, command: command.slice(0, maxCommand), note: note ?? null }
}
