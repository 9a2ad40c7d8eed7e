/** A mistake of the user, or of the user's environment. Each problem is one line that says what is wrong and names the fix. */
export class UserError extends Error {
  override readonly name = 'UserError'

  readonly exitCode: 2 | 3

  constructor(problems: string | readonly string[], exitCode: 2 | 3 = 2) {
    super([problems].flat().join('\n'))
    this.exitCode = exitCode
  }
}
