// The kinds of failures of a store. retry.ts decides which calls to repeat.
import { UserError } from '../shared/user-error.ts'

/**
 * What a failure says about a call.
 *
 * `busy`: the call did not run, and a repetition may run. `unknown`: the call may have had its effect, or may have it later.
 * `stopped`: like `unknown`, and D1 would stop a repetition, too. `refused`: it had no effect, and a repetition would be refused.
 */
export type FailureKind = 'busy' | 'unknown' | 'stopped' | 'refused'

export interface StoreFailure {
  kind: FailureKind
  /** How long the store asks to wait before a repetition. */
  retryAfterSeconds?: number | undefined
}

/** Cloudflare refused a call, failed, or can't be reached. The message quotes Cloudflare, or for SQL the database. */
export class CloudflareError extends Error implements StoreFailure {
  override readonly name = 'CloudflareError'
  readonly kind: FailureKind = 'refused'
  readonly retryAfterSeconds?: number | undefined
  /** Cloudflare's own error codes. */
  readonly codes: readonly unknown[] = []

  constructor(message: string, details: Partial<Omit<CloudflareError, keyof Error>> = {}) {
    super(message)
    Object.assign(this, details)
  }

  /** Returns the same error of kind `unknown`: an earlier attempt of the call may have had its effect. */
  asUnknown(): CloudflareError {
    return new CloudflareError(this.message, { codes: this.codes, kind: 'unknown' })
  }
}

/** Messages of a D1 that was interrupted, with any HTTP status: https://developers.cloudflare.com/d1/observability/debug-d1/ */
const interruption = /was reset|to be reset|reset because|Network connection lost|Cannot resolve D1 DB/
/** Messages of a D1 that stopped a statement, because it needs too much time or memory. A repetition would need the same. */
const exhaustion = /exceeded its (?:CPU|memory)/i
/** Cloudflare's codes for an overloaded D1, and for more than 1,200 calls of an account in five minutes. */
const busyCodes = new Set<unknown>([7429, 971])

/** Classifies an answer that is not a success. @param codes Cloudflare's error codes. @param reason its messages. */
export function classifyAnswer(status: number, codes: readonly unknown[], reason: string): FailureKind {
  if (exhaustion.test(reason)) return 'stopped'
  if (interruption.test(reason)) return 'unknown'
  if (status === 429 || codes.some((code) => busyCodes.has(code))) return 'busy'
  return status >= 500 ? 'unknown' : 'refused'
}

/**
 * Messages while another program writes to the local database: SQLite refuses a second writer at once. The local runtime hides most
 * errors of SQLite behind "internal error" or "failed: 500". It runs each call in one transaction, so a call that failed had no effect.
 */
export const localBusy = /SQLITE_BUSY|internal error|KV .* failed: 500/

/** Finds the failure in an error that wraps it. @returns undefined when no store failed. */
export function findFailure(error: unknown): StoreFailure | undefined {
  return findCloudflareError(error) ?? (isCausedBy(error, localBusy) ? { kind: 'busy' } : undefined)
}

/** Returns whether a call that failed may have had its effect. */
export function isUncertain(error: unknown): boolean {
  const kind = findFailure(error)?.kind
  return kind === 'unknown' || kind === 'stopped'
}

/** Finds the error of Cloudflare in an error that wraps it. */
export function findCloudflareError(error: unknown): CloudflareError | undefined {
  if (error instanceof CloudflareError) return error
  return error instanceof Error ? findCloudflareError(error.cause) : undefined
}

/** Throws an error of Cloudflare as a UserError with the same message, and any other error as it is. */
export function throwAsUserError(error: unknown): never {
  throw error instanceof CloudflareError ? new UserError(error.message) : error
}

/**
 * Returns whether the message of the innermost error contains `text`. The errors around the innermost error quote parameters, which may
 * have any text, such as a note.
 */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return findCause(error).search(text) !== -1
}

/** @returns the message of the innermost error. */
export function findCause(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return error.cause instanceof Error ? findCause(error.cause) : error.message
}
