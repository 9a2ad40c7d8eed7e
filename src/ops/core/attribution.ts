// Who changes something, with which command, and why. Every change is recorded with it.
import { abbreviate } from '../../abbreviate.ts'
import { isVisibleLine } from '../../visible-text.ts'
import type { Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'

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
  const problems = [
    !isVisibleLine(actor, maxActor) &&
      `The actor must be 1 to ${maxActor} visible characters on one line; it is ${abbreviate(actor)}.`,
    note !== undefined &&
      !isVisibleLine(note, maxNote) &&
      `The note must be 1 to ${maxNote} visible characters on one line; it is ${abbreviate(note)}.`,
  ].filter((problem) => typeof problem === 'string')
  if (problems.length > 0) throw new UserError(problems)
  return { actor, command: command.slice(0, maxCommand), note: note ?? null }
}
