// Rate limits of sign-ins, and of loads of filtered lists: each load reads the whole catalog in D1.
import { rateLimitDeadlineMs, withDeadline } from './deadline.ts'
import { describeError, type LogWarning } from './log.ts'

/** The `period` of AUTH_ADDRESS_RATE_LIMIT and AUTH_RATE_LIMIT in wrangler.toml. */
export const ratePeriodSeconds = 60

/** A client or a network made too many requests. */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError'
}

/**
 * AUTH_ADDRESS_RATE_LIMIT is the limit of each network. Only this limit stops somebody who tries random client IDs. AUTH_RATE_LIMIT is the
 * limit of each client, and stops attacks from many networks. A client may make more requests than a network, so one network alone can't
 * block a client.
 */
export type RateLimits = Pick<Env, 'AUTH_ADDRESS_RATE_LIMIT' | 'AUTH_RATE_LIMIT'>

/**
 * Counts a sign-in with credentials that this isolate has not verified, whether or not the client exists.
 * @param network see `getNetwork`
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
 * Counts a use of a client ID. Each kind of use has a limit of its own: `unknown` for a sign-in that a stranger may have sent, `known` for a
 * sign-in with credentials that this isolate has verified, `load` for a filtered list that is loaded from D1.
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

/** @throws RateLimitError, unless the limiter is not bound, fails or hangs: then the request goes on, and `rate_limiter_failed` is logged */
async function count(limits: RateLimits, name: keyof RateLimits, key: string, warn: LogWarning): Promise<void> {
  let isAllowed = true
  try {
    isAllowed = (await withDeadline(limits[name].limit({ key }), rateLimitDeadlineMs, name)).success
  } catch (error) {
    warn({ event: 'rate_limiter_failed', reason: describeError(error) })
  }
  if (!isAllowed) throw new RateLimitError()
}

/** The address of each request that a Worker, of any customer of Cloudflare, sends to another zone than its own. */
const addressOfWorkers = '2a06:98c0:3600::103'

/**
 * Names the network that sent a request: its IPv4 address, even written as IPv6, or the first 64 bits of its IPv6 address, because one
 * customer has a whole /64 (RFC 6177). All Workers share one address, so a Worker's network is the zone of its owner.
 * @param address the value of CF-Connecting-IP
 * @param worker the zone in CF-Worker, a header that clients can't send
 */
export function getNetwork(address = 'none', worker?: string): string {
  // The address in its canonical form (RFC 5952), undefined for IPv4.
  const ipv6 = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  if (!ipv6) return address
  if (ipv6 === addressOfWorkers) return worker ? `worker:${worker}` : ipv6
  // IPv4 addresses in IPv6 share their first 64 bits (RFC 4291 section 2.5.5.2, RFC 6052).
  if (/^(?:::ffff|64:ff9b:):[^:]+:[^:]+$/.test(ipv6)) return ipv6
  const groups = ipv6.split(':').filter((group) => group !== '')
  // `::` stands for the groups of zeros that are missing.
  const whole = ipv6.replace('::', `:${'0:'.repeat(8 - groups.length)}`).replace(/^:/, '')
  return whole.split(':').slice(0, 4).join(':')
}
