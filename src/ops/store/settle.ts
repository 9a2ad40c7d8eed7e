// Finding out what became of a change whose answer was lost.
import { findCloudflareError, maxAttempts, waitBeforeRetry } from './cloudflare-error.ts'
import { UserError } from '../shared/user-error.ts'

/**
 * Makes a change. When its answer is lost, reads back whether it was made, and if not, makes it again.
 * @param attempt returns undefined when it had no effect. Two attempts must never both have one.
 * @param readBack returns undefined when the change was not made.
 * @returns undefined when the change had no effect.
 * @throws UserError when the change was not made. Any error of `readBack`: then it is not known.
 */
export async function settle<T>(
  attempt: () => Promise<T | undefined>,
  readBack: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let count = 1; ; count++) {
    try {
      const result = await attempt()
      // An earlier attempt may have had its effect late.
      return result ?? (count > 1 ? await readBack() : undefined)
    } catch (error) {
      const failure = findCloudflareError(error)
      const isUncertain = failure?.isUncertain === true
      // An attempt that was refused after an uncertain one: that one may be the reason.
      const made = isUncertain || count > 1 ? await readBack() : undefined
      if (made !== undefined) return made
      if (!isUncertain) throw error
      if (!failure.isTransient || count === maxAttempts) {
        throw new UserError(`${failure.message} The change was not made: try again.`, 2, { cause: error })
      }
      await waitBeforeRetry(count)
    }
  }
}
