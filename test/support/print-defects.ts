import { UserError } from '../../src/ops/shared/user-error.ts'

/** Returns the lines that an operator reads when a file is refused; none when it can be read. */
export function printDefects(read: () => unknown): string[] {
  try {
    read()
    return []
  } catch (error) {
    if (error instanceof UserError) return error.message.split('\n')
    throw error
  }
}
