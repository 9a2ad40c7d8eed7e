// Attribution: who makes a change, with which command, and why. The record keeps it with the change.
import { throwProblems, UserError } from '../../shared/user-error.ts'
import { findLineProblem } from '../../shared/line-problem.ts'
import { findSecrets } from '../../shared/secret-forms.ts'

export interface Attribution {
  /** A person or a program, such as an e-mail address. */
  actor: string
  /** The command line, without `npm run -s ops --`. */
  command: string
  note: string | null
}

/** How messages name the secrets of `findSecrets`. */
const secretNames = {
  secret: 'a client secret',
  token: 'an access token',
  'signing-key': 'a signing key',
  'possible-key': 'what may be a signing key',
} as const

/**
 * Refuses texts with a secret, because the record keeps them for ever.
 * @throws UserError, which does not quote the secret.
 */
export function checkNoSecrets(texts: readonly string[]): void {
  for (const { kind } of findSecrets(texts.join('\n'))) {
    // The name of a key is not secret, and a note may say how secrets begin.
    if (kind === 'key-name' || kind === 'cut-secret') continue
    throw new UserError(
      `The record would keep ${secretNames[kind]} for ever: leave it out of the command. The history of your shell may have it, too.`,
    )
  }
}

const maxActor = 100
const maxNote = 2000
const maxCommand = 500

/** Checks what the operator typed, and cuts a long command. @throws UserError when nobody is named, or a text can't be recorded. */
export function checkAttribution({ actor, command, note }: Partial<Attribution> & { command: string }): Attribution {
  if (actor === undefined) {
    throw new UserError('Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.')
  }
  if (actor.toLowerCase() === 'schedule') {
    throw new UserError('The record uses the name schedule for the Worker: choose another.')
  }
  throwProblems([findLineProblem('actor', actor, maxActor), note ? findLineProblem('note', note, maxNote) : undefined])
  const cut = command.length > maxCommand ? `${command.slice(0, maxCommand - 1)}…` : command
  return { actor, command: cut, note: note || null }
}
