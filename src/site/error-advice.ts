// What each error code means to a partner and how it is fixed: the errors page says it, and so do the pages that call
// the API. A code without advice does not compile.
import type { ErrorCode } from '../worker/http/api-error.ts'

export interface Advice {
  cause: string
  fix: string
}

export const advice: Record<ErrorCode, Advice> = {
  invalid_request: {
    cause:
      'The token request has no Authorization header, one that is not Basic, or one that can’t be decoded; or a filter of the plan list is given twice or can’t be read.',
    fix: 'The message says what would be right. Change the request accordingly.',
  },
  invalid_client: {
    cause:
      'The client ID is unknown, the secret is wrong or has been rotated away, or your account is suspended. It is one answer for all of them, so that nobody learns which client IDs exist.',
    fix: 'Compare both values with what you were given, letter by letter and without spaces around them. A lost secret can’t be shown again: ask support to rotate it.',
  },
  missing_token: {
    cause: 'The request has no Authorization header with a bearer token.',
    fix: 'Get a token with your credentials, and send it as Authorization: Bearer followed by the token.',
  },
  expired_token: {
    cause: 'The token’s lifetime is over: the expires_in seconds since it was issued.',
    fix: 'Get a new token with your credentials and send the request again. Renew a token before it expires.',
  },
  invalid_token: {
    cause: 'We did not issue this token, it is not complete, or its account is suspended.',
    fix: 'Get a new token with your credentials. If the token request is refused as well, ask support.',
  },
  forbidden: {
    cause: 'The short name in the path is not that of the account the token belongs to.',
    fix: 'Use your own short name in the path. You were given it with your credentials.',
  },
  not_found: {
    cause: 'There are two paths, and this is neither of them.',
    fix: 'Compare the path with the reference, version included.',
  },
  method_not_allowed: {
    cause: 'The path is right and the method is not.',
    fix: 'POST for a token, GET for the plans. The Allow header of the answer lists what is possible.',
  },
  rate_limited: {
    cause: 'Too many token requests in a minute with your client ID, or from your address.',
    fix: 'Wait for the seconds in the Retry-After header. Then keep each token for its lifetime instead of getting one per request.',
  },
  internal_error: {
    cause: 'An error on our side.',
    fix: 'Try again. If it persists, send us the request ID: we find the cause by it.',
  },
  unavailable: {
    cause: 'Our storage can’t answer, and there is no copy of the answer that we could serve meanwhile.',
    fix: 'Try again after the seconds in the Retry-After header. Until then, show the list that you have.',
  },
}

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(advice, text)
}
