// The attribution of a change says who makes the change, with which command, and why. The record keeps it.
import { throwProblems, UserError } from '../../shared/user-error.ts'
import { describeLineProblem } from '../../shared/line-problem.ts'
import { findSecrets } from '../../shared/secret-forms.ts'

export interface Attribution {
  /** A person or a program, such as an e-mail address. */
  actor: string
  /** The command line, without `npm run -s ops --`. */
  command: string
  /** The reason for the change; null if the operator gave none. */
  note: string | null
}

const secretNames = {
  secret: 'a client secret',
  token: 'an access token',
  'signing-key': 'a signing key',
  'possible-key': 'what may be a signing key',
} as const

/** Checks texts before the database keeps them. @throws UserError that does not quote the secret. */
export function checkNoSecrets(texts: readonly string[]): void {
  for (const { kind } of findSecrets(texts.join('\n'))) {
    // The name of a signing key is not secret. A note may quote the beginning of a secret, to say which secret it means.
    if (kind === 'key-name' || kind === 'cut-secret') continue
    throw new UserError(
      `The database would keep ${secretNames[kind]}: leave it out of the command. The history of your shell may have it, too.`,
    )
  }
}

const maxLengths = { actor: 100, note: 2000, command: 500 }

/** Checks the actor and the note, and cuts a long command. @throws UserError when there is no actor, or a text can't be recorded. */
export function makeAttribution({ actor, command, note }: Partial<Attribution> & { command: string }): Attribution {
  if (actor === undefined) {
    throw new UserError('Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.')
  }
  if (actor.toLowerCase() === 'schedule') {
    throw new UserError('The record uses the name "schedule" for the Worker: choose another name.')
  }
  const noteProblem = note ? describeLineProblem('note', note, maxLengths.note) : undefined
  throwProblems([describeLineProblem('actor', actor, maxLengths.actor), noteProblem])
  const isTooLong = command.length > maxLengths.command
  const shortCommand = isTooLong ? `${command.slice(0, maxLengths.command - 1)}…` : command
  return { actor, command: shortCommand, note: note || null }
}
