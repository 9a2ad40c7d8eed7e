// The two operations of the OpenAPI document: their parameters, responses and examples.
import { planFilters } from '../catalog/plan-filters.ts'
import type { Plan } from '../catalog/plan-schema.ts'
import { refusals, type ErrorCode } from '../worker/http/api-error.ts'

export const exampleRequestId = '43462e96-44fc-4132-ae0f-c867b3032b99'

export function describeTokenOperation() {
  return {
    operationId: 'issueAccessToken',
    tags: ['Token'],
    summary: 'Exchange client credentials for an access token',
    description:
      'Send the credentials in the Authorization header. A request body is allowed but never read, so OAuth 2 client libraries work unchanged. Every call issues a new token with the full lifetime; earlier tokens stay valid until they expire.',
    security: [{ clientCredentials: [] }],
    responses: {
      200: {
        description: 'An access token.',
        headers: { ...commonHeaders(), 'Cache-Control': referToHeader('NoStore') },
        content: describeBody('AccessToken', {
          access_token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBQiJ9.c2lnbmF0dXJl',
          expires_in: 3600,
          token_type: 'Bearer',
        }),
      },
      ...describeRefusals('invalid_request', 'invalid_client', 'rate_limited', 'internal_error', 'unavailable'),
    },
  }
}

export function describePlansOperation(examplePlan: Plan) {
  return {
    operationId: 'listPlans',
    tags: ['Plans'],
    summary: 'List the plans of your country',
    description:
      'Returns the plans that are viewable in your country and match all filters. If no plan matches, the list is empty. A filter with an empty value and an unknown parameter are ignored. A filter that is repeated or has an invalid value is refused with status 400. HEAD is supported.',
    security: [{ accessToken: [] }],
    parameters: [
      {
        name: 'shortName',
        in: 'path',
        required: true,
        description: 'Your short name. It must be the short name of the partner that the access token belongs to.',
        schema: { type: 'string', minLength: 1 },
        example: 'acme',
      },
      ...Object.entries(planFilters).map(([name, { description, schema, example }]) => ({
        name,
        in: 'query',
        description,
        schema,
        example,
      })),
      {
        name: 'If-None-Match',
        in: 'header',
        description:
          'The ETag of your last list with the same filters. If the list has not changed, the response is a 304 without a body.',
        schema: { type: 'string' },
        example: '"MDfm93pYf5ukiPWD3U3ZBQ"',
      },
    ],
    responses: {
      200: {
        description: 'The plans.',
        headers: listHeaders(),
        content: describeBody('PlanList', {
          message: 'Plans fetched successfully',
          data: { total: 1, plans: [examplePlan] },
        }),
      },
      304: { description: 'The list has not changed since the response with this ETag.', headers: listHeaders() },
      ...describeRefusals(
        'invalid_request',
        'missing_token',
        'expired_token',
        'invalid_token',
        'forbidden',
        'internal_error',
        'unavailable',
      ),
    },
  }
}

/** Of every response. */
function commonHeaders() {
  return {
    'X-Request-Id': referToHeader('RequestId'),
    'Strict-Transport-Security': referToHeader('TransportSecurity'),
    'X-Content-Type-Options': referToHeader('ContentTypeOptions'),
  }
}

function listHeaders() {
  return {
    ...commonHeaders(),
    ETag: referToHeader('ETag'),
    'Cache-Control': referToHeader('CacheControl'),
    Vary: referToHeader('Vary'),
    'Cache-Status': referToHeader('CacheStatus'),
  }
}

/** Returns one response per status; the codes that share a status are its examples. */
function describeRefusals(...codes: ErrorCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => refusals[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, statusCodes]) => [
      status,
      {
        description: statusCodes.map((code) => `\`${code}\`: ${refusals[code].message}`).join(' '),
        headers: {
          ...commonHeaders(),
          'Cache-Control': referToHeader('NoStore'),
          ...(status === 401 && {
            'WWW-Authenticate': referToHeader(
              statusCodes.includes('invalid_client') ? 'BasicChallenge' : 'BearerChallenge',
            ),
          }),
          ...((status === 429 || status === 503) && { 'Retry-After': referToHeader('RetryAfter') }),
        },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: Object.fromEntries(
              statusCodes.map((code) => [
                code,
                { value: { message: refusals[code].message, error: code, requestId: exampleRequestId } },
              ]),
            ),
          },
        },
      },
    ]),
  )
}

function describeBody(schema: string, example: unknown) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } }
}

function referToHeader(name: string) {
  return { $ref: `#/components/headers/${name}` }
}
