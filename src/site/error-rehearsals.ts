// How a partner's developer provokes each error code, for the errors page and for the buttons of "Try it".
import type { ErrorCode } from '../worker/http/api-error.ts'

export interface RehearsedRequest {
  method: string
  /** `$SHORT_NAME` stands for the partner's short name. */
  path: string
  /** The Authorization header. `$CLIENT_ID` and `$TOKEN` stand for the partner's own. Undefined: no header. */
  authorization?: { scheme: 'Basic' | 'Bearer'; value: string }
}

const token = '/api/v3/partners/auth'
const plans = '/api/v3/partners/$SHORT_NAME/plans'
const ownToken = { scheme: 'Bearer', value: '$TOKEN' } as const

/** A request that is refused with the code and has no other effect, or a sentence for a code that needs more than a request. */
export const rehearsals: Record<ErrorCode, RehearsedRequest | string> = {
  invalid_request: { method: 'GET', path: `${plans}?currency=12`, authorization: ownToken },
  invalid_client: { method: 'POST', path: token, authorization: { scheme: 'Basic', value: '$CLIENT_ID:wrong' } },
  missing_token: { method: 'GET', path: plans },
  expired_token: 'Keep a token for longer than its expires_in, then use it.',
  invalid_token: { method: 'GET', path: plans, authorization: { scheme: 'Bearer', value: 'wrong' } },
  forbidden: { method: 'GET', path: '/api/v3/partners/somebody-else/plans', authorization: ownToken },
  not_found: { method: 'GET', path: '/api/v3/nothing' },
  method_not_allowed: { method: 'GET', path: token },
  rate_limited:
    'Don’t provoke it, because your own servers would be refused for a minute, too. Answer with it from a mock of openapi.json.',
  internal_error: 'Only we can cause it. Answer with it from a mock of openapi.json.',
  unavailable: 'Only we can cause it. Answer with it from a mock of openapi.json.',
}

export function formatCurl({ method, path, authorization }: RehearsedRequest): string {
  const credentials =
    authorization?.scheme === 'Basic'
      ? `-u "${authorization.value}" `
      : authorization
        ? `-H "Authorization: Bearer ${authorization.value}" `
        : ''
  return `curl -i ${method === 'GET' ? '' : `-X ${method} `}${credentials}"$API${path}"`
}
