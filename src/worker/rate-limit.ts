// Limits the rate of sign-ins, and of loads of filtered lists: each load reads the whole catalog in D1.
import { rateLimitDeadlineMs, withDeadline } from './deadline.ts'
import { describeError, type LogWarning } from './log.ts'

/** The `period` of AUTH_ADDRESS_RATE_LIMIT and AUTH_RATE_LIMIT in wrangler.toml. */
export const ratePeriodSeconds = 60

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
 * Counts a sign-in with credentials that this isolate has not verified: first against the limit of the network, then against the limit of
 * the client ID, even if no client has this ID.
 * @param network see `getNetwork`
 * @throws RateLimitError if one of the limits is exceeded. If a limiter fails, ignores its limit, and warns.
 */
export async function countUnverifiedSignIn(
  limits: RateLimits,
  network: string,
  clientId: string,
  warn: LogWarning,
): Promise<void> {
  // The network comes first: once a network is over its limit, its sign-ins no longer count against the client.
  await countRequest(limits, 'AUTH_ADDRESS_RATE_LIMIT', network, warn)
  await countClientUse(limits, 'unknown', clientId, warn)
}

/**
 * Counts a use of a client ID. Each kind of use is counted separately: `unknown` for a sign-in that a stranger may have sent, `known` for a
 * sign-in with credentials that this isolate has verified, `load` for a filtered list that is loaded from D1.
 * @throws RateLimitError if the client has too many uses of this kind. If the limiter fails, allows the use, and warns.
 */
export function countClientUse(
  limits: RateLimits,
  use: 'unknown' | 'known' | 'load',
  clientId: string,
  warn: LogWarning,
): Promise<void> {
  return countRequest(limits, 'AUTH_RATE_LIMIT', `${use}:${clientId}`, warn)
}

/** Counts a request under `key`. If the limiter is not bound, fails or hangs, only warns. @throws RateLimitError if the limit is exceeded */
async function countRequest(limits: RateLimits, name: keyof RateLimits, key: string, warn: LogWarning): Promise<void> {
  let isAllowed = true
  try {
    isAllowed = (await withDeadline(limits[name].limit({ key }), rateLimitDeadlineMs, name)).success
  } catch (error) {
    warn({ event: 'rate_limiter_failed', reason: describeError(error) })
  }
  if (!isAllowed) throw new RateLimitError()
}

/** The address from which the Workers of all Cloudflare's customers send requests to other zones. */
const addressOfWorkers = '2a06:98c0:3600::103'

/**
 * Names the network that sent a request, for its rate limit:
 * - an IPv4 address, also if it is written as IPv6: the whole address
 * - an IPv6 address: its first 64 bits, such as `2001:db8:0:1`, because one customer has a whole /64 (RFC 6177)
 * - a Worker: the zone of its owner, such as `worker:example.com`, because all Workers share one address
 * @param address the value of CF-Connecting-IP. All requests without this header count as one network
 * @param workerZone the value of CF-Worker, a header that clients can't send
 */
export function getNetwork(address = 'none', workerZone?: string): string {
  // The canonical form of an IPv6 address (RFC 5952), undefined for any other text.
  const ipv6 = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  if (!ipv6) return address
  if (ipv6 === addressOfWorkers) return workerZone ? `worker:${workerZone}` : ipv6
  // An IPv4 address that is written as IPv6 (RFC 4291 section 2.5.5.2, RFC 6052): all of these have the same first 64 bits.
  if (/^(?:::ffff|64:ff9b:):[^:]+:[^:]+$/.test(ipv6)) return ipv6
  const groups = ipv6.split(':').filter((group) => group !== '')
  // Writes out the groups of zeros that `::` stands for.
  const allGroups = ipv6.replace('::', `:${'0:'.repeat(8 - groups.length)}`).replace(/^:/, '')
  return allGroups.split(':').slice(0, 4).join(':')
}
