// Errors of Cloudflare's HTTP API, and which of them are worth another attempt.
import { UserError } from '../shared/user-error.ts'

/** D1's documentation says that a repetition may succeed. */
const transientReason =
  /Network connection lost|storage caused object to be reset|reset because its code was updated|Cannot resolve D1 DB/
/** D1's documentation says that a repetition makes it worse. */
const overload = /overload|exceeded|out of memory/i

/** Cloudflare refused a call, or can't be reached. For SQL the message quotes the database's. */
export class CloudflareError extends Error {
  override readonly name = 'CloudflareError'
  /** Whether the call may have taken effect. */
  readonly isUncertain: boolean
  /** Whether the same call may succeed in a moment. */
  readonly isTransient: boolean
  /** Cloudflare's own error codes. */
  readonly codes: readonly unknown[]
  /** Whether the account has nothing by that name or ID. */
  readonly isMissing: boolean

  constructor(
    message: string,
    { isUncertain = false, codes = [], isMissing = false }: Partial<Omit<CloudflareError, keyof Error>> = {},
  ) {
    super(message)
    this.isUncertain = isUncertain || transientReason.test(message)
    this.isTransient = this.isUncertain && !overload.test(message)
    this.codes = codes
    this.isMissing = isMissing
  }
}

/** Finds it in an error that wraps it, such as drizzle's. */
export function findCloudflareError(error: unknown): CloudflareError | undefined {
  if (error instanceof CloudflareError) return error
  return error instanceof Error ? findCloudflareError(error.cause) : undefined
}

/** Cloudflare's refusal as a mistake of the user: its message names the fix. */
export function refuse(error: unknown): never {
  throw error instanceof CloudflareError ? new UserError(error.message) : error
}

export const maxAttempts = 4

/** Waits before the next attempt: up to 2 s, at random, so that programs don't all come back at once. */
export function waitBeforeRetry(attempt: number): Promise<void> {
  const delayMs = Math.random() * Math.min(2000, 100 * 2 ** attempt)
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}

/** Repeats a call that has the same effect when it runs twice. */
export async function retryTransient<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!findCloudflareError(error)?.isTransient || attempt === maxAttempts) throw error
      await waitBeforeRetry(attempt)
    }
  }
}
