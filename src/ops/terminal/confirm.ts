// Asks an operator to confirm a change.
import { UserError } from '../shared/user-error.ts'
import { formatTarget, type Target } from '../shared/target.ts'
import type { Io } from './io.ts'

/** @param effect a sentence that says what will change. @throws UserError when the answer is not yes, or there is no terminal. */
export async function confirm(
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
  target: Target,
  effect: string,
): Promise<void> {
  const question = `${formatTarget(target)} ${effect}`
  if (!stdin.isTTY) {
    throw new UserError(`${question} There is no terminal to ask: add --yes to go ahead.`)
  }
  stderr.write(`${question} Go ahead? [y/N] `)
  // A terminal delivers whole lines. A `for await` loop would close stdin after the first line, and a second question would get no answer.
  const { value: line } = await stdin[Symbol.asyncIterator]().next()
  // The error needs no message: the caller prints that nothing was changed.
  if (!/^y(es)?$/i.test(String(line ?? '').trim())) throw new UserError([])
}
