// The cause and fix of each error code, for the errors page and for the pages that call the API.
import { staleIfErrorHours } from '../api/promises.ts'
import type { ErrorCode } from '../api/error-codes.ts'

/** Covers every error code: a new code without an entry doesn't compile. */
export const advice: Record<ErrorCode, { cause: string; fix: string }> = {
  invalid_request: {
    cause:
      'On a token request, the Authorization header is missing (an OAuth 2 library may send the credentials in the body), is not Basic or can’t be decoded. On a plan request, a filter is repeated or has an invalid value. On any request: the URL starts with http:// instead of https://.',
    fix: 'Change the request as the message says.',
  },
  invalid_client: {
    cause:
      'The client ID doesn’t exist, the client secret is wrong or was replaced, or your account is suspended. The response is the same in all these cases, so that it doesn’t reveal which client IDs exist.',
    fix: 'Check that the client ID and secret are exactly the ones you received, without extra spaces. If you lost the secret, ask support to rotate it. If it worked before, it was replaced or your account is suspended: ask support.',
  },
  missing_token: {
    cause: 'The request has no Authorization header with a bearer token.',
    fix: 'Get a token with your credentials. Send it in the header Authorization: Bearer followed by the token.',
  },
  expired_token: {
    cause: 'The token was issued more than expires_in seconds ago.',
    fix: 'Get a new token with your credentials and send the request again. Next time, renew the token before it expires.',
  },
  invalid_token: {
    cause:
      'The token is incomplete or was not issued by this service, its signing key was removed, tokens of your account were ended because of a leak, or your account is suspended.',
    fix: 'Get a new token with your credentials. If that request is refused too, contact support.',
  },
  forbidden: {
    cause: 'The short name in the path doesn’t match the account that the token was issued to.',
    fix: 'Use your own short name in the path. You received it with your credentials.',
  },
  not_found: {
    cause: 'The API has no endpoint at this path.',
    fix: 'Compare the path, including the version, with the API reference.',
  },
  method_not_allowed: {
    cause: 'The path is right, but the endpoint doesn’t support this HTTP method.',
    fix: 'Use POST for a token and GET for plans. The Allow header of the response lists the supported methods.',
  },
  rate_limited: {
    cause: 'There were too many token requests in one minute with your client ID or from your IP address.',
    fix: 'Wait for the number of seconds in the Retry-After header. Then reuse each token until it expires.',
  },
  internal_error: {
    cause: 'An error in our service.',
    fix: 'Try again. If the error continues, send the request ID to support.',
  },
  unavailable: {
    cause: `Our storage is unavailable, and there is no cached copy to answer from. On a token request, this means that no copy has the secret: it may be new or wrong, or your account was not used for ${staleIfErrorHours} hours.`,
    fix: 'Try again after the number of seconds in the Retry-After header. Until then, show the last list you received.',
  },
}

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(advice, text)
}
