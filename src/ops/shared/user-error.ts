/**
 * A mistake of the user, or in the user's environment. The command line prints the lines of the error, and ends with exit code 2. The first
 * lines name the problems. Each line below names a solution, and ends with a command. If the failed command can change data and
 * changed nothing, the command line adds `Nothing was changed.`
 */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(lines: string | readonly string[]) {
    super([lines].flat().join('\n'))
  }
}

export const nothingChanged = 'Nothing was changed.'

/** @throws UserError with a line for each problem that is not undefined. Does nothing if all are undefined. */
export function throwProblems(problems: readonly (string | undefined)[]): void {
  const lines = problems.filter((problem) => problem !== undefined)
  if (lines.length > 0) throw new UserError(lines)
}
