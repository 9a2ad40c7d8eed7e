// Refuses plain HTTP: RFC 6749 section 3.2 requires HTTPS for the token endpoint, RFC 6750 section 5.3 for bearer tokens.
import type { MiddlewareHandler } from 'hono'
import { ApiError } from './api-error.ts'

/** The URL of a request over plain HTTP, unless it stays on this machine, as in `wrangler dev`. */
const plainHttp = /^http:\/\/(?!(?:(?:[\w-]+\.)*localhost|127\.0\.0\.1|\[::1\])[:/])/i

/** Refuses a request over plain HTTP before any header or the body is read. */
export const requireHttps: MiddlewareHandler = (c, next) => {
  if (plainHttp.test(c.req.url)) {
    throw new ApiError('invalid_request', {
      message:
        'Use https://. Over plain HTTP, others can read what you send: replace the secret or token that you sent.',
      reason: 'plain_http',
    })
  }
  return next()
}
