/** A mistake of the user's. Each problem is a line that says what is wrong and names the mend. */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(problems: string | readonly string[]) {
    super([problems].flat().join('\n'))
  }
}
