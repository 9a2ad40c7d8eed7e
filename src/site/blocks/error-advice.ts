// Lists the cause and fix of each error code, and a request that causes it, for the errors page and for "Try it".
import type { ErrorCode } from '../../api/error-codes.ts'

interface Advice {
  cause: string
  fix: string
  /** The arguments of curl for a harmless request that gets this error. */
  request: string
  /** The reason why the request goes to a mock server, as a sentence. Undefined: it goes to the service. */
  whyMocked?: string
}

const plans = '"$API/api/v3/partners/$SHORT_NAME/plans"'
const token = '"$API/api/v3/partners/auth"'
const bearer = '-H "Authorization: Bearer $TOKEN"'
/** The API on the mock server Prism, at its default port. Prism accepts any token, and returns the response that Prefer selects. */
const mock = 'http://127.0.0.1:4010/api/v3/partners'
/** @param prefer the value of the header Prefer, which selects the response */
const formatMockedRequest = (prefer: string) =>
  `-H "Authorization: Bearer any" -H "Prefer: ${prefer}" "${mock}/$SHORT_NAME/plans"`

/** Covers every error code: a new code without an entry doesn't compile. */
export const advice: Record<ErrorCode, Advice> = {
  invalid_request: {
    cause:
      'On a token request, the Authorization header is missing (an OAuth 2 library may send the credentials in the body), is not Basic or can’t be decoded. On a plan request, a filter is repeated, has an invalid value, or its name is only almost right. On any request: the URL starts with http:// instead of https://.',
    fix: 'Change the request as the message says.',
    request: `${bearer} "$API/api/v3/partners/$SHORT_NAME/plans?currency=12"`,
  },
  invalid_client: {
    cause:
      'The client ID doesn’t exist, the client secret is wrong or was replaced, or your account is suspended. The response is the same in all these cases, so that it doesn’t reveal which client IDs exist.',
    fix: 'Check that the client ID and secret are exactly the ones you received, without extra spaces. If you lost the secret, ask support to rotate it. If the secret worked before, it was replaced, or your account is suspended: ask support.',
    request: `-X POST -u "$CLIENT_ID:wrong" ${token}`,
  },
  missing_token: {
    cause: 'The request has no Authorization header with a bearer token.',
    fix: 'Get a token with your credentials. Send it in the header Authorization: Bearer followed by the token.',
    request: plans,
  },
  expired_token: {
    cause: 'The token was issued more than expires_in seconds ago.',
    fix: 'Get a new token with your credentials and send the request again. Next time, renew the token before it expires.',
    request: formatMockedRequest('code=401, example=expired_token'),
    whyMocked: 'You would have to wait until a token expires.',
  },
  invalid_token: {
    cause:
      'The token is incomplete or was not issued by this service, its signing key was removed, tokens of your account were ended because of a leak, or your account is suspended.',
    fix: 'Get a new token with your credentials. If that request is refused too, contact support.',
    request: `-H "Authorization: Bearer wrong" ${plans}`,
  },
  forbidden: {
    cause: 'The short name in the path doesn’t match the account that the token was issued to.',
    fix: 'Use your own short name in the path. You received it with your credentials.',
    request: `${bearer} "$API/api/v3/partners/somebody-else/plans"`,
  },
  not_found: {
    cause: 'The API has no endpoint at this path.',
    fix: 'Compare the path, including the version, with the API reference.',
    request: '"$API/api/v3/nothing"',
  },
  method_not_allowed: {
    cause: 'The path is right, but the endpoint doesn’t support this HTTP method.',
    fix: 'Use POST for a token and GET for plans. The Allow header of the response lists the supported methods.',
    request: token,
  },
  rate_limited: {
    cause:
      'In one minute, there were too many token requests with your client ID or from your IP address, or too many list requests with [new filters](/limits#fair-use).',
    fix: 'Wait for the number of seconds in the Retry-After header. Then reuse each token until it expires, and repeat filters instead of sending new ones.',
    request: `-X POST -u any:any -H "Prefer: code=429" "${mock}/auth"`,
    whyMocked: 'Don’t cause this error: the service would also refuse requests of your own servers.',
  },
  internal_error: {
    cause: 'An error in our service.',
    fix: 'Try again. If the error continues, send the request ID to support.',
    request: formatMockedRequest('code=500'),
    whyMocked: 'Only a failure of our service causes this error.',
  },
  unavailable: {
    cause:
      'Our database fails, and no [copy](/promises#outage) can answer. On a token request, the secret may also be new or wrong. On a plan request, too many large lists may still be on their way to partners.',
    fix: 'Try again after the number of seconds in the Retry-After header. Until then, show the last list you received.',
    request: formatMockedRequest('code=503'),
    whyMocked: 'No single request causes this error.',
  },
}

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(advice, text)
}
