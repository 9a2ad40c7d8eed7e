// How a store fails. retry.ts decides what to repeat.
import { UserError } from '../shared/user-error.ts'

/**
 * `busy`: the call did not run, and a repetition may run. `unknown`: the call may have had its effect, or may have it later.
 * `exhausted`: like `unknown`, and a repetition would fail, too. `refused`: it had no effect, and a repetition would be refused.
 */
export type FailureKind = 'busy' | 'unknown' | 'exhausted' | 'refused'

export interface StoreFailure {
  kind: FailureKind
  /** The wait that the store asks for. */
  retryAfterSeconds?: number | undefined
}

/** Cloudflare refused a call, or can't be reached. For SQL the message quotes the database's. */
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

  /** The same error, for a call that may have had its effect in an earlier attempt. */
  asUnknown(): CloudflareError {
    return new CloudflareError(this.message, { codes: this.codes, kind: 'unknown' })
  }
}

/** D1 was interrupted, whatever the status: https://developers.cloudflare.com/d1/observability/debug-d1/ */
const interruption = /was reset|to be reset|reset because|Network connection lost|Cannot resolve D1 DB/
/** D1 interrupted a statement that needs too much. A repetition makes it worse. */
const exhaustion = /exceeded its (?:CPU|memory)/i
/** D1 is overloaded; the account made more than 1,200 calls in five minutes. */
const busyCodes = new Set<unknown>([7429, 971])

/** Classifies an answer that is not a success. */
export function classifyAnswer(status: number, codes: readonly unknown[], reason: string): FailureKind {
  if (exhaustion.test(reason)) return 'exhausted'
  if (interruption.test(reason)) return 'unknown'
  if (status === 429 || codes.some((code) => busyCodes.has(code))) return 'busy'
  return status >= 500 ? 'unknown' : 'refused'
}

/**
 * Another program writes to the local database: SQLite refuses a second writer at once. The runtime prints most errors of SQLite,
 * and only says "internal error" or "failed: 500" here. It runs each call in one transaction, so a refused one had no effect.
 */
export const localBusy = /SQLITE_BUSY|internal error|KV .* failed: 500/

/** Finds the failure in an error that wraps it. @returns undefined when no store failed. */
export function findFailure(error: unknown): StoreFailure | undefined {
  return findCloudflareError(error) ?? (isCausedBy(error, localBusy) ? { kind: 'busy' } : undefined)
}

/** Whether a call that failed may have had its effect. */
export function isUncertain(error: unknown): boolean {
  const kind = findFailure(error)?.kind
  return kind === 'unknown' || kind === 'exhausted'
}

export function findCloudflareError(error: unknown): CloudflareError | undefined {
  if (error instanceof CloudflareError) return error
  return error instanceof Error ? findCloudflareError(error.cause) : undefined
}

/** Throws a refusal of Cloudflare as a UserError. */
export function refuse(error: unknown): never {
  throw error instanceof CloudflareError ? new UserError(error.message) : error
}

/** Whether the message of the innermost error contains `text`. The others quote parameters, such as a note of the user. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return findCause(error).search(text) !== -1
}

/** @returns the message of the innermost error. */
export function findCause(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return error.cause instanceof Error ? findCause(error.cause) : error.message
}
