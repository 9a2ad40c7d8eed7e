import type { Io } from './io.ts'
import type { Target } from '../store/target.ts'
import { UserError } from '../core/user-error.ts'

/**
 * Asks before something that can't be undone. Local state is nobody's but the operator's own.
 * @throws UserError when the answer is not yes, or nobody can be asked.
 */
export async function confirm(
  { stdin, stderr }: Io,
  { remote, env, yes }: Target & { yes?: boolean },
  what: string,
): Promise<void> {
  if (!remote || yes) return
  const question = `[${env}] ${what}`
  if (!stdin.isTTY) {
    throw new UserError(`${question} Nobody can be asked here: add --yes to go ahead. Nothing was changed.`)
  }
  stderr.write(`${question} Go ahead? [y/N] `)
  if (!/^y(es)?$/i.test(await readLine(stdin))) throw new UserError('Nothing was changed.')
}

/** A terminal hands over line by line. */
async function readLine(stdin: Io['stdin']): Promise<string> {
  for await (const line of stdin) return String(line).trim()
  return ''
}
