// The lines of a file that a command names, which may be read again. Only "\n" ends a line: JSON text may hold other line separators.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { describeReadError } from './read-input.ts'

/**
 * @param file a path, relative to the folder in which the user typed `npm run`.
 * @throws UserError when it can't be read.
 */
export async function* readLines(file: string): AsyncGenerator<string> {
  let rest = ''
  const path = resolve(process.env['INIT_CWD'] ?? '.', file)
  const fix = 'a file that the command backup wrote'
  try {
    const found = await stat(path)
    // A pipe can be read only once.
    if (!found.isFile() && !found.isDirectory()) throw new UserError(`${abbreviate(file)} is no file. Name ${fix}.`)
    const stream = createReadStream(path, { encoding: 'utf8' })
    for await (const text of stream) {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw describeReadError(file, error, fix)
  }
  if (rest !== '') yield rest
}
