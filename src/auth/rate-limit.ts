// Bounds how often a key is derived: by where the request comes from, and by the client it names.
import { withDeadline } from '../deadline.ts'
import { ApiError } from '../errors.ts'
import { describeError, type Warn } from '../log.ts'

/** The period of AUTH_RATE_LIMIT in wrangler.toml. */
const periodSeconds = 60

/** It answers from where the Worker runs, without a network in between. */
const deadlineMs = 1000

/**
 * Counts an attempt. By address, as whoever makes up client IDs has no other; by client, as whoever has many addresses
 * tries one. A client that doesn't exist counts like one that does. A limiter that is missing, fails or hangs lets the
 * request pass, and says so in the log.
 * @throws ApiError `rate_limited` when either has had its share.
 */
export async function limitRate(
  limiter: RateLimit | undefined,
  { address, clientId }: { address: string | undefined; clientId: string },
  warn: Warn,
): Promise<void> {
  const isWithinLimit = async (key: string) => {
    if (limiter === undefined) throw new Error('AUTH_RATE_LIMIT is not bound')
    return (await withDeadline(limiter.limit({ key }), deadlineMs, 'The rate limiter')).success
  }
  let isLimited = false
  try {
    // The address comes first: once it has had its share, it no longer counts against the client.
    isLimited = !((await isWithinLimit(`address:${networkOf(address)}`)) && (await isWithinLimit(`client:${clientId}`)))
  } catch (error) {
    warn({ event: 'rate_limiter_failed', reason: describeError(error) })
  }
  if (isLimited) throw new ApiError('rate_limited', { headers: { 'Retry-After': String(periodSeconds) } })
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
