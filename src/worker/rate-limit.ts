// Limits sign-ins, by network and by client before a key is derived, and by client when the credentials are known to be right. And
// limits each client's loads of filtered lists: each reads the whole catalog in D1.
import { rateLimitDeadlineMs, withDeadline } from './deadline.ts'
import { describeError, type LogWarning } from './log.ts'

/** The `period` of AUTH_ADDRESS_RATE_LIMIT and AUTH_RATE_LIMIT in wrangler.toml. */
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
 * Counts an attempt, whether or not the client exists.
 * @param network see getNetwork
 * @throws RateLimitError
 */
export async function countAttempt(
  limits: RateLimits,
  network: string,
  clientId: string,
  warn: LogWarning,
): Promise<void> {
  // The network comes first: once it is over its limit, its attempts no longer count against the client.
  await count(limits, 'AUTH_ADDRESS_RATE_LIMIT', network, warn)
  await countUse(limits, 'unknown', clientId, warn)
}

/**
 * Each use of a client ID has a limit of its own: `unknown` for attempts, which strangers can make, too; `known` for a sign-in with
 * credentials that this isolate has verified; `load` for a filtered list that is about to be loaded from D1.
 * @throws RateLimitError
 */
export function countUse(
  limits: RateLimits,
  use: 'unknown' | 'known' | 'load',
  clientId: string,
  warn: LogWarning,
): Promise<void> {
  return count(limits, 'AUTH_RATE_LIMIT', `${use}:${clientId}`, warn)
}

/** A limit that is not bound, fails or hangs allows the request and logs `rate_limiter_failed`. */
async function count(limits: RateLimits, name: keyof RateLimits, key: string, warn: LogWarning): Promise<void> {
  let isAllowed = true
  try {
    isAllowed = (await withDeadline(limits[name].limit({ key }), rateLimitDeadlineMs, name)).success
  } catch (error) {
    warn({ event: 'rate_limiter_failed', reason: describeError(error) })
  }
  if (!isAllowed) throw new RateLimitError()
}

/** The address that requests have when a Worker of any customer sends them to another zone. */
const addressOfWorkers = '2a06:98c0:3600::103'

/**
 * The network of a request counts: an IPv4 address, also in IPv6, or the first 64 bits of an IPv6 address, because one customer has a
 * whole /64 (RFC 6177). Workers share an address, so the zone of the Worker's owner counts.
 * @param address the value of CF-Connecting-IP
 * @param worker the value of CF-Worker, which clients can't send
 */
export function getNetwork(address = 'none', worker?: string): string {
  // In its canonical form (RFC 5952).
  const ipv6 = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  if (!ipv6) return address
  if (ipv6 === addressOfWorkers) return worker ? `worker:${worker}` : ipv6
  // RFC 4291 section 2.5.5.2, RFC 6052.
  if (/^(?:::ffff:|64:ff9b::)/.test(ipv6)) return ipv6
  const [head = '', tail] = ipv6.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
