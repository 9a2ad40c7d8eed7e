// The error codes of the API. Each has a status and a default message. The site explains the codes.
export const refusals = {
  invalid_request: { status: 400, message: 'The Authorization header or a filter cannot be read.' },
  invalid_client: { status: 401, message: 'Client ID or client secret is wrong.' },
  missing_token: { status: 401, message: 'Send an access token: Authorization: Bearer <access_token>.' },
  expired_token: { status: 401, message: 'The access token has expired. Get a new one from the token endpoint.' },
  invalid_token: { status: 401, message: 'The access token is not valid. Get a new one from the token endpoint.' },
  forbidden: { status: 403, message: 'The short name in the path is not the one of your access token.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, message: 'This path does not support this method.' },
  rate_limited: { status: 429, message: 'Too many requests. Try again later.' },
  internal_error: { status: 500, message: 'Something went wrong on our side.' },
  unavailable: { status: 503, message: 'The service cannot answer right now. Try again shortly.' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof refusals
