// The two operations of the OpenAPI document: their parameters, responses and examples.
import { defaultTokenLifetimeSeconds } from '../api/config.ts'
import { examplePlan } from '../catalog/example-plan.ts'
import { readFilterValue, planFilters } from '../catalog/plan-filters.ts'
import { refusals, type ErrorCode } from '../api/error-codes.ts'

export const exampleRequestId = '43462e96-44fc-4132-ae0f-c867b3032b99'

export function describeTokenOperation() {
  return {
    operationId: 'issueAccessToken',
    tags: ['Token'],
    summary: 'Exchange client credentials for an access token',
    description:
      'Send the credentials in the Authorization header. A request body is allowed but never read, so OAuth 2 client libraries work unchanged. Every call issues a new token with the full lifetime and leaves earlier tokens valid.',
    security: [{ clientCredentials: [] }],
    requestBody: {
      description: 'Never read. OAuth 2 libraries send the grant type here.',
      required: false,
      content: {
        'application/x-www-form-urlencoded': {
          schema: { type: 'object', description: 'Any form.' },
          example: { grant_type: 'client_credentials' },
        },
      },
    },
    responses: {
      200: {
        description: 'An access token.',
        headers: {
          ...commonHeaders,
          'Cache-Control': referToHeader('NoStore'),
          Pragma: referToHeader('Pragma'),
        },
        content: describeBody('AccessToken', {
          access_token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBQiJ9.c2lnbmF0dXJl',
          expires_in: defaultTokenLifetimeSeconds,
          token_type: 'Bearer',
        }),
      },
      ...describeErrorResponses('TokenErrorResponse', 'The Authorization header is missing or cannot be read.', [
        'invalid_client',
        'rate_limited',
        'internal_error',
        'unavailable',
      ]),
    },
  }
}

export function describePlansOperation() {
  return {
    operationId: 'listPlans',
    tags: ['Plans'],
    summary: 'List the plans of your country',
    description:
      'Returns the plans that are viewable in your country and match all filters. If no plan matches, the list is empty. A filter that is repeated or has an invalid value, and a parameter with almost the name of a filter, such as `category_id` or `categoryId[]`, are refused with status 400. Any other unknown parameter and a filter with an empty value are ignored. Each client ID may send 300 requests per minute with filters that nobody in your country sent since the catalog changed, or that match no plan. Further such requests are refused with status 429. HEAD returns the same status and headers, except Content-Length, and never a body.',
    // Tools such as Postman import only the first way to authorize. With OAuth 2, they get the token themselves.
    security: [{ oauth2: [] }, { accessToken: [] }],
    parameters: describePlansParameters(),
    responses: {
      200: {
        description: 'The plans.',
        headers: listHeaders,
        content: describeBody('PlanList', {
          message: 'Plans fetched successfully',
          data: { total: 1, plans: [examplePlan] },
        }),
      },
      304: {
        description: 'The list has not changed since the response with this ETag.',
        headers: listHeaders,
      },
      ...describeErrorResponses(
        'ErrorResponse',
        'A filter is repeated, its name is almost right, or its value cannot be read.',
        [
          'missing_token',
          'expired_token',
          'invalid_token',
          'forbidden',
          'rate_limited',
          'internal_error',
          'unavailable',
        ],
      ),
    },
  }
}

const commonHeaders = {
  'X-Request-Id': referToHeader('RequestId'),
  'X-Worker-Version': referToHeader('WorkerVersion'),
}

function describePlansParameters() {
  return [
    {
      name: 'shortName',
      in: 'path',
      required: true,
      description: 'Your short name. It must be the short name of the partner that the access token belongs to.',
      schema: { type: 'string', minLength: 2, maxLength: 32 },
      example: 'acme',
    },
    ...Object.entries(planFilters).map(([name, filter]) => ({
      name,
      in: 'query',
      description: filter.description,
      schema: filter.schema,
      example: readFilterValue(examplePlan, filter),
    })),
    {
      name: 'If-None-Match',
      in: 'header',
      description:
        'The ETag of your last list with the same filters. If the list has not changed, the response is a 304 without a body.',
      schema: { type: 'string' },
      example: '"MDfm93pYf5ukiPWD3U3ZBQ"',
    },
  ]
}

const listHeaders = {
  ...commonHeaders,
  ETag: referToHeader('ETag'),
  'Cache-Control': referToHeader('CacheControl'),
  Vary: referToHeader('Vary'),
  'Cache-Status': referToHeader('CacheStatus'),
}

/** Describes a response for each status of `invalid_request` and `otherCodes`, with an example for each code, and `default` for the rest. */
function describeErrorResponses(
  schemaName: 'ErrorResponse' | 'TokenErrorResponse',
  invalidRequestMessage: string,
  otherCodes: readonly ErrorCode[],
) {
  const isTokenEndpoint = schemaName === 'TokenErrorResponse'
  const getMessage = (code: ErrorCode) => (code === 'invalid_request' ? invalidRequestMessage : refusals[code].message)
  const describeExample = (error: ErrorCode) => {
    const message = getMessage(error)
    const body = { message, error, requestId: exampleRequestId }
    return { value: isTokenEndpoint ? { ...body, error_description: message } : body }
  }
  const describeResponse = (description: string, headers: object, codes: readonly ErrorCode[]) => ({
    description,
    headers: { ...commonHeaders, 'Cache-Control': referToHeader('NoStore'), ...headers },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${schemaName}` },
        ...(codes.length > 0 && { examples: Object.fromEntries(codes.map((code) => [code, describeExample(code)])) }),
      },
    },
  })
  const defaultDescription = 'Any other status. If you do not know the error code, handle the status.'
  const responses = { default: describeResponse(defaultDescription, { Allow: referToHeader('Allow') }, []) }
  const codesByStatus = Map.groupBy(['invalid_request', ...otherCodes] as const, (code) => refusals[code].status)
  for (const [status, codes] of codesByStatus) {
    const description = codes.map((code) => `\`${code}\`: ${getMessage(code)}`).join(' ')
    const headers = {
      ...(status === 401 && {
        'WWW-Authenticate': referToHeader(isTokenEndpoint ? 'BasicChallenge' : 'BearerChallenge'),
      }),
      ...((status === 429 || status === 503) && { 'Retry-After': referToHeader('RetryAfter') }),
    }
    Object.assign(responses, { [status]: describeResponse(description, headers, codes) })
  }
  return responses
}

function describeBody(schemaName: string, example: unknown) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schemaName}` }, example } }
}

/** Refers to a header of the document, such as `ETag` of `#/components/headers/ETag`. */
function referToHeader(name: string) {
  return { $ref: `#/components/headers/${name}` }
}
