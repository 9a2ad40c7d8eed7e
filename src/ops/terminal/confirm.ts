// Asks an operator to confirm a change.
import { UserError } from '../shared/user-error.ts'
import { describePlace, type Target } from '../shared/target.ts'
import type { Io } from './io.ts'

/**
 * Asks on stderr whether to go ahead.
 * @param effect a sentence: what will change.
 * @throws UserError when the answer is not yes, or there is no terminal.
 */
export async function confirm(
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
  target: Target,
  effect: string,
): Promise<void> {
  const question = `${describePlace(target)} ${effect}`
  if (!stdin.isTTY) {
    throw new UserError(`${question} There is no terminal to ask: add --yes to go ahead.`)
  }
  stderr.write(`${question} Go ahead? [y/N] `)
  // The error needs no message: the caller prints that nothing was changed.
  if (!/^y(es)?$/i.test(await readLine(stdin))) throw new UserError([])
}

/**
 * Reads a line from a terminal: each chunk of its input is one line. A `for await` loop would close stdin after the first line, and the
 * next question would get no answer.
 */
async function readLine(stdin: Io['stdin']): Promise<string> {
  const { value: line } = await stdin[Symbol.asyncIterator]().next()
  return line === undefined ? '' : String(line).trim()
}
