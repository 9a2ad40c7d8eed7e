// The error codes of the API and the JSON body that every refusal has. No other file sets a status of 400 or above.
import { commonHeaders } from './common-headers.ts'

export const refusals = {
  invalid_request: { status: 400, message: 'The Authorization header or a filter cannot be read.' },
  invalid_client: { status: 401, message: 'Client ID or client secret is wrong.' },
  missing_token: { status: 401, message: 'Send an access token: Authorization: Bearer <access_token>.' },
  expired_token: { status: 401, message: 'The access token has expired. Get a new one from the token endpoint.' },
  invalid_token: { status: 401, message: 'The access token is not valid. Get a new one from the token endpoint.' },
  forbidden: { status: 403, message: 'The short name in the path is not the one of your access token.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, message: 'This path does not support this method.' },
  rate_limited: { status: 429, message: 'Too many token requests. Try again later.' },
  internal_error: { status: 500, message: 'Something went wrong on our side.' },
  unavailable: { status: 503, message: 'The service cannot answer right now. Try again shortly.' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof refusals

export interface ErrorBody {
  message: string
  error: ErrorCode
  requestId: string
  /** Only from the token endpoint: the text of `message`, which OAuth libraries show (RFC 6749 section 5.2). */
  error_description?: string
}

interface RefusalOptions {
  /** Replaces the default message, where more detail helps the caller and not an attacker. */
  message?: string
  headers?: Record<string, string>
  /** The detailed reason. Only the log and the usage dataset get it. */
  reason?: string
}

/** The only error that routes throw on purpose. `app.onError` turns it into a response. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly headers: Record<string, string>
  readonly reason: string | undefined

  constructor(code: ErrorCode, { message, headers = {}, reason }: RefusalOptions = {}) {
    super(message ?? refusals[code].message)
    this.code = code
    this.headers = headers
    this.reason = reason
  }

  toResponse(requestId: string, isFromTokenEndpoint = false): Response {
    const { message, code: error } = this
    const body: ErrorBody = { message, error, requestId, ...(isFromTokenEndpoint && { error_description: message }) }
    const headers = { ...commonHeaders(requestId), 'Cache-Control': 'no-store', ...this.headers }
    return Response.json(body, { status: refusals[this.code].status, headers })
  }
}
