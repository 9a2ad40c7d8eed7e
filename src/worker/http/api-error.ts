// Makes the JSON body of every refusal. The only other answer with a status of 400 or above is the page in not-found.ts.
import type { Context } from 'hono'
import { refusals, type ErrorCode } from '../../api/error-codes.ts'
import { createCommonHeaders, type AppEnv } from '../app-env.ts'

export interface ErrorBody {
  message: string
  error: ErrorCode
  requestId: string
  /** Only errors of the token endpoint have it: the text of `message`, which OAuth libraries show (RFC 6749 section 5.2). */
  error_description?: string
}

interface RefusalOptions {
  /** Replaces the default message of the code. Give it where details help the caller and not an attacker. */
  message?: string
  headers?: Record<string, string>
  /** The detailed reason. Only the log and the usage dataset get it. */
  reason?: string
}

/** A refusal of a request. Routes throw it, and `app.onError` turns it into a response. */
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

  toResponse(c: Context<AppEnv>, isFromTokenEndpoint = false): Response {
    const { message, code: error } = this
    const body: ErrorBody = {
      message,
      error,
      requestId: c.get('requestId'),
      ...(isFromTokenEndpoint && { error_description: message }),
    }
    const headers = { ...createCommonHeaders(c), 'Cache-Control': 'no-store', ...this.headers }
    return Response.json(body, { status: refusals[this.code].status, headers })
  }
}
