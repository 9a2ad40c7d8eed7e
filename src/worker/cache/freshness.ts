// The maximum ages of checks and copies.
import { maxReplicaLagMs } from '../../api/cache-keys.ts'
import { copyRenewalHours, freshnessSeconds, staleIfErrorHours } from '../../api/promises.ts'
import { d1DeadlineMs } from '../deadline.ts'

/** A check up to this age is used without any I/O. */
export const maxAgeMs = 60_000
/** A check up to this age is used, and renewed after the response (RFC 5861 section 3). */
export const staleWhileRevalidateMs = freshnessSeconds * 1000
/**
 * While D1 fails, a copy is used up to this age (RFC 5861 section 4). It is longer than a day, so a partner's daily job finds the copy of
 * the previous day. KV deletes copies after this time.
 */
export const staleIfErrorMs = staleIfErrorHours * 3600_000
/** For this long after a failure of D1, requests with a usable copy do not ask D1. */
export const outagePauseMs = 10_000
/** After the pause, one request asks D1. The others use copies until D1 has answered, at most for this long. */
export const outageProbeMs = d1DeadlineMs + 1000
/** A copy in KV that is older than this is written again, so that an outage always finds a recent copy. */
export const kvRewriteMs = copyRenewalHours * 3600_000
/** After an isolate failed to store a copy in KV, it waits this long before it tries again. */
export const kvRetryMs = 60_000

/**
 * Computes the time up to which an answer of D1 surely has all changes, in Unix milliseconds. Checks and copies don't record whether the
 * primary or a replica answered, so each answer counts as the answer of a replica that lags.
 */
export function computeAsOfMs(askedAtMs: number): number {
  return askedAtMs - maxReplicaLagMs
}

/** Computes the age of a time. Clocks differ and can step back: a time up to a minute ahead has the age 0, a time further ahead Infinity. */
export function computeAgeMs(timeMs: number, nowMs: number): number {
  const ageMs = nowMs - timeMs
  return ageMs < -maxAgeMs ? Infinity : Math.max(0, ageMs)
}

/** Tells if data may be used while D1 fails. @param timeMs Unix milliseconds at which the check or list was last known to be current */
export function isUsableInOutage(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= staleIfErrorMs
}
