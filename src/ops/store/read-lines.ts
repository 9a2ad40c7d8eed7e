// The lines of a file that a command names. Only "\n" ends a line: JSON text may hold other line separators.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { describeReadError } from './read-input.ts'

/**
 * @param file a path, relative to the folder in which the user typed `npm run`.
 * @throws UserError when it can't be read.
 */
export async function* readLines(file: string): AsyncGenerator<string> {
  let rest = ''
  const stream = createReadStream(resolve(process.env['INIT_CWD'] ?? '.', file), { encoding: 'utf8' })
  try {
    for await (const text of stream) {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    throw describeReadError(file, error, 'a file that the command backup wrote')
  }
  if (rest !== '') yield rest
}
