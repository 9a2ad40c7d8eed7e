/** A mistake of the user, or of the user's environment. Each problem is one line that says what is wrong and names the fix. */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(problems: string | readonly string[]) {
    super([problems].flat().join('\n'))
  }
}
