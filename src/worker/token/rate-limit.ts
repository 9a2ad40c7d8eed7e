// Bounds how often a key is derived: by where the request comes from, and by the client it names.
import { withDeadline } from '../../db/deadline.ts'
import { ApiError } from '../http/api-error.ts'
import { describeError, type Warn } from '../http/log.ts'

/** The period of both limits in wrangler.toml. */
const periodSeconds = 60

/** They answer from where the Worker runs, without a network in between. */
const deadlineMs = 1000

export interface RateLimits {
  /** Per network: whoever makes up client IDs has no other. */
  AUTH_ADDRESS_RATE_LIMIT?: RateLimit
  /** Per client, for whoever has many networks. It allows more, so that one network can't use up a client's share. */
  AUTH_RATE_LIMIT?: RateLimit
}

/**
 * Counts an attempt. A client that doesn't exist counts like one that does. A limit that is not bound, fails or hangs lets
 * the request pass, and says so in the log.
 * @throws ApiError `rate_limited` when either has had its share.
 */
export async function limitRate(
  limits: RateLimits,
  { address, clientId }: { address: string | undefined; clientId: string },
  warn: Warn,
): Promise<void> {
  const isWithin = async (name: keyof RateLimits, key: string) => {
    try {
      const limit = limits[name]?.limit({ key }) ?? Promise.reject(new Error(`${name} is not bound`))
      return (await withDeadline(limit, deadlineMs, name)).success
    } catch (error) {
      warn({ event: 'rate_limiter_failed', reason: describeError(error) })
      return true
    }
  }
  // The address comes first: once it has had its share, it no longer counts against the client.
  const isAllowed =
    (await isWithin('AUTH_ADDRESS_RATE_LIMIT', networkOf(address))) && (await isWithin('AUTH_RATE_LIMIT', clientId))
  if (!isAllowed) throw new ApiError('rate_limited', { headers: { 'Retry-After': String(periodSeconds) } })
}

/** One customer has a whole /64 of IPv6 (RFC 6177), and 2^64 addresses in it. */
export function networkOf(address = 'unknown'): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
