// Limits sign-ins, by network and by client before a key is derived, and by client when the credentials are known to be right. And
// limits each client's loads of filtered lists: each reads the whole catalog in D1.
import { rateLimitDeadlineMs, withDeadline } from './deadline.ts'
import { describeError, type LogWarning } from './log.ts'

/** The period of both limits in wrangler.toml. */
export const ratePeriodSeconds = 60

/** A client made too many requests. */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError'
}

/**
 * Per network: the only limit that stops random client IDs. And per client, against attacks from many networks: higher, so that
 * one network can't use up a client's limit.
 */
export type RateLimits = Pick<Env, 'AUTH_ADDRESS_RATE_LIMIT' | 'AUTH_RATE_LIMIT'>

/**
 * Counts an attempt, whether or not the client exists. A limit that is not bound, fails or hangs allows the request and
 * logs `rate_limiter_failed`.
 * @param address the value of CF-Connecting-IP
 * @returns whether both limits allow the attempt
 */
export async function countAttempt(
  limits: RateLimits,
  address: string | undefined,
  clientId: string,
  warn: LogWarning,
): Promise<boolean> {
  // The network comes first: once it is over its limit, its attempts no longer count against the client.
  return (
    (await isAllowed(limits, 'AUTH_ADDRESS_RATE_LIMIT', getNetwork(address), warn)) &&
    (await isAllowed(limits, 'AUTH_RATE_LIMIT', `unknown:${clientId}`, warn))
  )
}

/**
 * Counts a sign-in with credentials that this isolate has verified. Strangers who know only the client ID count under another
 * key, so they can't use up this limit. All keys have a prefix, or a stranger could send `known:…` as the client ID.
 */
export function countKnownClient(limits: RateLimits, clientId: string, warn: LogWarning): Promise<boolean> {
  return isAllowed(limits, 'AUTH_RATE_LIMIT', `known:${clientId}`, warn)
}

/**
 * Counts a filtered list that a client's request is about to load from D1.
 * @throws RateLimitError
 */
export async function countLoad(limits: RateLimits, clientId: string, warn: LogWarning): Promise<void> {
  if (!(await isAllowed(limits, 'AUTH_RATE_LIMIT', `load:${clientId}`, warn))) throw new RateLimitError()
}

async function isAllowed(limits: RateLimits, name: keyof RateLimits, key: string, warn: LogWarning): Promise<boolean> {
  try {
    return (await withDeadline(limits[name].limit({ key }), rateLimitDeadlineMs, name)).success
  } catch (error) {
    warn({ event: 'rate_limiter_failed', reason: describeError(error) })
    return true
  }
}

/** Returns an IPv4 address unchanged, and the first 64 bits of an IPv6 address: one customer has a whole /64 (RFC 6177). */
export function getNetwork(address = 'unknown'): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
