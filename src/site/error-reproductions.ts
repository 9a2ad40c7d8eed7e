// How a partner's developer reproduces each error code, for the errors page and for the buttons of "Try it".
import type { ErrorCode } from '../api/error-codes.ts'

export interface ReproducedRequest {
  method: string
  /** `$SHORT_NAME` stands for the partner's short name. */
  path: string
  /** The Authorization header. `$CLIENT_ID` and `$TOKEN` stand for the partner's own. Undefined: no header. */
  authorization?: { scheme: 'Basic' | 'Bearer'; value: string }
}

/** A request to a mock of openapi.json, for a code that no request to the service can or should cause. */
export interface MockedRequest {
  reason: string
  method: string
  path: string
  /** Prism's header, https://docs.stoplight.io/docs/prism/how-to-use */
  prefer: string
}

const token = '/api/v3/partners/auth'
const plans = '/api/v3/partners/$SHORT_NAME/plans'
const ownToken = { scheme: 'Bearer', value: '$TOKEN' } as const

/** Requests that are refused with the code and have no other effect. */
export const reproductions: Record<ErrorCode, ReproducedRequest | MockedRequest> = {
  invalid_request: { method: 'GET', path: `${plans}?currency=12`, authorization: ownToken },
  invalid_client: { method: 'POST', path: token, authorization: { scheme: 'Basic', value: '$CLIENT_ID:wrong' } },
  missing_token: { method: 'GET', path: plans },
  expired_token: mock('Only time can cause it.', 'GET', plans, 'code=401, example=expired_token'),
  invalid_token: { method: 'GET', path: plans, authorization: { scheme: 'Bearer', value: 'wrong' } },
  forbidden: { method: 'GET', path: '/api/v3/partners/somebody-else/plans', authorization: ownToken },
  not_found: { method: 'GET', path: '/api/v3/nothing' },
  method_not_allowed: { method: 'GET', path: token },
  rate_limited: mock('Don’t cause it: your own servers would be refused, too.', 'POST', token, 'code=429'),
  internal_error: mock('Only we can cause it.', 'GET', plans, 'code=500'),
  unavailable: mock('Only we can cause it.', 'GET', plans, 'code=503'),
}

function mock(reason: string, method: string, path: string, prefer: string): MockedRequest {
  return { reason, method, path, prefer }
}

/** The mock listens at Prism's default port. It requires an Authorization header, with any value. */
export function formatMockCurl({ method, path, prefer }: MockedRequest): string {
  const credentials = method === 'POST' ? '-u any:any' : '-H "Authorization: Bearer any"'
  return `curl -i -X ${method} ${credentials} -H "Prefer: ${prefer}" \\\n  "http://127.0.0.1:4010${path}"`
}

export function formatCurl({ method, path, authorization }: ReproducedRequest): string {
  const credentials =
    authorization?.scheme === 'Basic'
      ? `-u "${authorization.value}" `
      : authorization
        ? `-H "Authorization: Bearer ${authorization.value}" `
        : ''
  return `curl -i ${method === 'GET' ? '' : `-X ${method} `}${credentials}\\\n  "$API${path}"`
}
