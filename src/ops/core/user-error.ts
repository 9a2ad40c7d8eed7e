/** A mistake of the user, or of the user's environment. Each problem is one line that says what is wrong and names the fix. */
export class UserError extends Error {
  override readonly name = 'UserError'

  constructor(problems: string | readonly string[]) {
    super([problems].flat().join('\n'))
  }
}

/** Whether the message of this error, or of an error that it wraps, contains `text`. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return error instanceof Error && (error.message.search(text) !== -1 || isCausedBy(error.cause, text))
}
