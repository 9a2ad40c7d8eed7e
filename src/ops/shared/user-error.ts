/** A mistake of the user, or of the user's environment. Each problem is one line that says what is wrong and names the fix. */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(problems: string | readonly string[]) {
    super([problems].flat().join('\n'))
  }
}

/** The last line of a refusal. */
export const nothingChanged = 'Nothing was changed.'

/** @throws UserError that names every problem, if there is one. */
export function throwProblems(problems: readonly (string | undefined)[]): void {
  const found = problems.filter((problem) => problem !== undefined)
  if (found.length > 0) throw new UserError(found)
}
