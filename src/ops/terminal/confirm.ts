import { UserError } from '../shared/user-error.ts'
import type { Target } from '../shared/target.ts'
import type { Io } from './io.ts'

/**
 * Asks before a change of a deployed environment that can't be undone. Never asks for local state.
 * @param yes skips the question; required without a terminal.
 * @param flag the name of `yes` on the command line.
 * @throws UserError when the answer is not yes, or there is no terminal.
 */
export async function confirm(
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
  { remote, env, yes }: Target & { yes?: boolean },
  effect: string,
  flag = '--yes',
): Promise<void> {
  if (!remote || yes) return
  const question = `[${env}] ${effect}`
  if (!stdin.isTTY) {
    throw new UserError(`${question} There is no terminal to ask: add ${flag} to go ahead. Nothing was changed.`)
  }
  stderr.write(`${question} Go ahead? [y/N] `)
  if (!/^y(es)?$/i.test(await readLine(stdin))) throw new UserError('Nothing was changed.')
}

/** A terminal delivers whole lines. Leaving a `for await` loop would close stdin, and a second question would fail. */
async function readLine(stdin: Io['stdin']): Promise<string> {
  const { value } = await stdin[Symbol.asyncIterator]().next()
  return value === undefined ? '' : String(value).trim()
}
