/**
 * A mistake of the user, or in the user's environment. The command line prints its lines, and ends with exit code 2. Each problem is one
 * line. Below the problems, each way out is a line that ends with its command. If the command would have changed something, the command
 * line adds `Nothing was changed.`
 */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(lines: string | readonly string[]) {
    super([lines].flat().join('\n'))
  }
}

export const nothingChanged = 'Nothing was changed.'

/** @throws UserError that names every problem, if there is one. */
export function throwProblems(problems: readonly (string | undefined)[]): void {
  const found = problems.filter((problem) => problem !== undefined)
  if (found.length > 0) throw new UserError(found)
}
