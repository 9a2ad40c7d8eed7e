// The ages up to which checks and copies are used, in one place.
import { maxReplicaLagMs } from '../../api/cache-keys.ts'
import { copyRenewalHours, freshnessSeconds, staleIfErrorHours } from '../../api/promises.ts'
import { d1DeadlineMs } from '../deadline.ts'

/** A check of up to this age is used without any I/O. */
export const maxAgeMs = 60_000
/** A check of up to this age is used, and renewed after the response (RFC 5861 section 3). */
export const staleWhileRevalidateMs = freshnessSeconds * 1000
/**
 * While D1 fails, a copy is used up to this age (RFC 5861 section 4): a job that runs once a day finds the copy of the day
 * before. KV deletes its copies after this time.
 */
export const staleIfErrorMs = staleIfErrorHours * 3600_000
/** Requests that have an old copy do not ask D1 for this long after D1 failed. */
export const outagePauseMs = 10_000
/** After the pause, one request asks D1. The others use old copies until D1 has answered, at most for this long. */
export const outageProbeMs = d1DeadlineMs + 1000
/** A copy in KV that is older than this is written again, so that an outage always finds a recent copy. */
export const kvRewriteMs = copyRenewalHours * 3600_000
/** An isolate does not write a copy again for this long after KV refused it. */
export const kvRetryMs = 60_000

/**
 * The time up to which an answer of D1 surely has all changes. Checks and copies don't record who answered, so each counts as the
 * answer of a replica that lags behind.
 * @param askedAtMs Unix milliseconds at which D1 was asked
 */
export function computeAsOfMs(askedAtMs: number): number {
  return askedAtMs - maxReplicaLagMs
}

/** Clocks differ and can step back: a time up to a minute ahead of the clock counts as now, a time further ahead as infinitely old. */
export function computeAgeMs(timeMs: number, nowMs: number): number {
  const ageMs = nowMs - timeMs
  return ageMs < -maxAgeMs ? Infinity : Math.max(0, ageMs)
}

/** Tells whether a check or a list that was current at `timeMs` may be used while D1 fails. */
export function isUsableInOutage(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= staleIfErrorMs
}
