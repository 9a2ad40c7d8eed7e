// Classifies failures of a store. retry.ts decides by their kinds which calls to repeat.
import { UserError } from '../shared/user-error.ts'

/**
 * Says whether a call that failed may have had its effect, and whether a repetition may succeed.
 * - `busy`: it had no effect, and a repetition may succeed.
 * - `unknown`: it may have had its effect, or may have its effect later. A repetition may succeed.
 * - `stopped`: it may have had its effect. D1 would stop a repetition, too.
 * - `refused`: it had no effect, and a repetition would be refused, too.
 */
export type FailureKind = 'busy' | 'unknown' | 'stopped' | 'refused'

export interface StoreFailure {
  kind: FailureKind
  /** The time that the store asks to wait before a repetition. */
  retryAfterSeconds?: number | undefined
}

/** Cloudflare refused a call, failed, or can't be reached. The message quotes the reason that Cloudflare gives. */
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
}

/** Matches the messages of an interrupted D1, which may have any HTTP status: https://developers.cloudflare.com/d1/observability/debug-d1/ */
const interruption = /was reset|to be reset|reset because|Network connection lost|Cannot resolve D1 DB/
/** Matches the messages of a D1 that stopped a statement for its need of time or memory. A repetition would need as much. */
const exhaustion = /exceeded its (?:CPU|memory)/i
/** Cloudflare's codes for an overloaded D1, and for more than 1,200 calls of an account in five minutes. */
const busyCodes = new Set<unknown>([7429, 971])

/** Classifies an answer that is not a success. @param codes Cloudflare's error codes. @param reason Cloudflare's error messages. */
export function classifyAnswer(status: number, codes: readonly unknown[], reason: string): FailureKind {
  if (exhaustion.test(reason)) return 'stopped'
  if (interruption.test(reason)) return 'unknown'
  if (status === 429 || codes.some((code) => busyCodes.has(code))) return 'busy'
  return status >= 500 ? 'unknown' : 'refused'
}

/**
 * Matches the errors of local calls while another program writes: SQLite refuses a second writer at once. The local runtime replaces most
 * messages of SQLite by "internal error" or "failed: 500". Each call is one transaction, so a call with such an error had no effect.
 */
export const localBusy = /SQLITE_BUSY|internal error|KV .* failed: 500/

/** Finds the failure of a store in an error, or in the errors that caused it. @returns undefined when no store failed. */
export function findFailure(error: unknown): StoreFailure | undefined {
  return findCloudflareError(error) ?? (isCausedBy(error, localBusy) ? { kind: 'busy' } : undefined)
}

/** Tells if a call that failed with this error may have had its effect. */
export function isUncertain(error: unknown): boolean {
  const kind = findFailure(error)?.kind
  return kind === 'unknown' || kind === 'stopped'
}

export function findCloudflareError(error: unknown): CloudflareError | undefined {
  if (error instanceof CloudflareError) return error
  return error instanceof Error ? findCloudflareError(error.cause) : undefined
}

export function throwAsUserError(error: unknown): never {
  throw error instanceof CloudflareError ? new UserError(error.message) : error
}

/** Tells if the message of the innermost cause matches `pattern`. The errors around the cause may quote parameters with any text. */
export function isCausedBy(error: unknown, pattern: RegExp): boolean {
  return pattern.test(getCauseMessage(error))
}

/** @returns the message of the innermost cause of an error; empty for a value that is not an Error. */
export function getCauseMessage(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return error.cause instanceof Error ? getCauseMessage(error.cause) : error.message
}
