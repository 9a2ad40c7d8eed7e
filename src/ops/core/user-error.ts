/** A mistake of the user's. Each problem is a line that says what is wrong and names the mend. */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(problems: string | readonly string[]) {
    super([problems].flat().join('\n'))
  }
}

/** Whether this error or one that it wraps says `text`. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return error instanceof Error && (error.message.search(text) !== -1 || isCausedBy(error.cause, text))
}
