// The OpenAPI document: both endpoints, the headers and the bodies.
import { defaultTokenLifetimeSeconds } from '../api/config.ts'
import { changes, support } from '../api/promises.ts'
import { refusals, type ErrorCode } from '../api/error-codes.ts'
import { describePlansOperation, describeTokenOperation, exampleRequestId } from './openapi-operations.ts'
import { describePlan } from './plan-json-schema.ts'

/** Returns the document as JSON. @param origin if it is empty, the addresses are relative, and some tools can't resolve them */
export function formatOpenapi(origin = ''): string {
  return `${JSON.stringify(buildOpenapi(origin), null, 2)}\n`
}

function buildOpenapi(origin: string) {
  const { plan, objects } = describePlan()
  return {
    openapi: '3.1.1',
    info: {
      title: 'Partner Investment Plan Catalog',
      version: changes[0].version,
      description:
        'Your server exchanges a client ID and secret for a short-lived bearer token, and lists the investment plans of your country. Call the API from a server only: it allows no cross-origin requests from browsers, because the client secret must stay on your server. A request over plain HTTP is refused with status 400 before its headers and its body are read.',
      contact: support,
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: origin || '/', description: 'The origin that serves this document' }],
    tags: [
      { name: 'Token', description: 'Exchange client credentials for an access token.' },
      { name: 'Plans', description: 'List the plans of your country.' },
    ],
    paths: {
      '/api/v3/partners/auth': { post: describeTokenOperation() },
      '/api/v3/partners/{shortName}/plans': { get: describePlansOperation() },
    },
    components: {
      securitySchemes: {
        clientCredentials: {
          type: 'http',
          scheme: 'basic',
          description: 'Client ID and client secret in the Authorization header (RFC 7617), and nowhere else.',
        },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token from the token endpoint (RFC 6750). Treat it as an opaque string.',
        },
        oauth2: {
          type: 'oauth2',
          description:
            'Or OAuth 2 client credentials, for tools that get the token themselves: they must send the credentials with HTTP Basic.',
          flows: { clientCredentials: { tokenUrl: `${origin}/api/v3/partners/auth`, scopes: {} } },
        },
      },
      headers: {
        RequestId: describeHeader(
          'Identifies the request. Quote it when you contact support.',
          { format: 'uuid' },
          exampleRequestId,
        ),
        WorkerVersion: {
          ...describeHeader('The release of the service that answered.', {}, 'b7d3a1f0-5c0e-4c9d-9a55-0f6f9d1c2e11'),
          required: false,
        },
        ETag: describeHeader(
          'Identifies this version of the list (RFC 9110 section 8.8.3). Send it unchanged as If-None-Match with the next request. A compressed response can have the weak form, which begins with `W/`: both forms match.',
          { pattern: '^(W/)?"[A-Za-z0-9_-]{22}"$' },
          '"MDfm93pYf5ukiPWD3U3ZBQ"',
        ),
        CacheControl: describeHeader(
          'You may store the list for your own use, but check with the API before each use whether it has changed (RFC 9111).',
          { const: 'private, no-cache' },
        ),
        NoStore: describeHeader('On tokens and errors: do not store this response (RFC 9111).', { const: 'no-store' }),
        Pragma: describeHeader('The same as Cache-Control, for old caches (RFC 6749 section 5.1).', {
          const: 'no-cache',
        }),
        Vary: describeHeader(
          'The list depends on the partner that the access token belongs to. A compressed response can add Accept-Encoding.',
          {},
          'Authorization',
        ),
        CacheStatus: describeHeader(
          'The cache that answered, or with `fwd` the database (RFC 9211). `ttl=60` means that the database has just confirmed the list, `ttl=-60` that it confirmed the list 120 seconds earlier. With `detail=storage-unavailable`, the database fails, and the list may be outdated.',
          {},
          'memory; hit; ttl=42',
        ),
        Allow: {
          ...describeHeader('On a 405: the methods that the path supports (RFC 9110 section 10.2.1).', {}, 'GET, HEAD'),
          required: false,
        },
        BasicChallenge: describeHeader(
          'On a 401: the authentication that the token endpoint requires (RFC 9110 section 11.6.1, RFC 7617).',
          { const: 'Basic realm="partners", charset="UTF-8"' },
        ),
        BearerChallenge: describeHeader(
          'On a 401: the authentication that the list requires, and why the token was refused (RFC 9110 section 11.6.1, RFC 6750).',
          {},
          'Bearer realm="partners", error="invalid_token"',
        ),
        RetryAfter: describeHeader(
          'On a 429 or 503: number of seconds to wait before the next attempt (RFC 9110 section 10.2.3).',
          { pattern: '^[0-9]+$' },
          '5',
        ),
      },
      schemas: {
        AccessToken: {
          type: 'object',
          description: 'An access token and its lifetime (RFC 6749 section 5.1). There is no refresh token.',
          properties: {
            access_token: {
              type: 'string',
              description: 'The token (a JWT), sent as a bearer token on later requests. Treat it as an opaque string.',
              pattern: '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$',
              examples: ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBQiJ9.c2lnbmF0dXJl'],
            },
            expires_in: {
              type: 'integer',
              format: 'int32',
              minimum: 1,
              description: 'Lifetime of the token in seconds.',
              examples: [defaultTokenLifetimeSeconds],
            },
            token_type: { type: 'string', const: 'Bearer', description: 'Always Bearer.', examples: ['Bearer'] },
          },
          required: ['access_token', 'expires_in', 'token_type'],
        },
        PlanList: {
          type: 'object',
          description: 'All matching plans, in ascending order of id.',
          properties: {
            message: {
              type: 'string',
              description: 'Human-readable status text.',
              examples: ['Plans fetched successfully'],
            },
            data: { $ref: '#/components/schemas/PlanListData' },
          },
          required: ['message', 'data'],
        },
        PlanListData: {
          type: 'object',
          description: 'The plans and their number.',
          properties: {
            total: { type: 'integer', format: 'int32', minimum: 0, description: 'Number of plans.', examples: [1] },
            plans: {
              type: 'array',
              description: 'The plans. There is no pagination.',
              items: { $ref: '#/components/schemas/Plan' },
            },
          },
          required: ['total', 'plans'],
        },
        Plan: plan,
        ...objects,
        ErrorResponse: {
          type: 'object',
          description:
            'The body of every response of the API whose status is not 2xx or 304. The token endpoint adds `error_description`.',
          properties: describeErrorFields('invalid_token'),
          required: ['message', 'error', 'requestId'],
        },
        TokenErrorResponse: {
          type: 'object',
          description:
            'The body of every error response of the token endpoint. OAuth 2 libraries show `error_description` (RFC 6749 section 5.2).',
          properties: {
            ...describeErrorFields('invalid_client'),
            error_description: {
              type: 'string',
              description: 'The text of message.',
              examples: [refusals.invalid_client.message],
            },
          },
          required: ['message', 'error', 'requestId', 'error_description'],
        },
      },
    },
  }
}

/** Describes a required header. @param rule the JSON Schema of the value, without its type */
function describeHeader(
  description: string,
  rule: { format?: string; const?: string; pattern?: string },
  example?: string,
) {
  return { description, required: true, schema: { type: 'string', ...rule }, example }
}

/** Describes the fields of an error body. @param code the first example: a mock server sends the first example of each field. */
function describeErrorFields(code: ErrorCode) {
  return {
    message: {
      type: 'string',
      description: 'Human-readable text that says what is wrong.',
      examples: [refusals[code].message],
    },
    error: {
      type: 'string',
      description: 'Stable error code for programs. New codes may be added.',
      examples: [...new Set([code, ...Object.keys(refusals)])],
    },
    requestId: {
      type: 'string',
      format: 'uuid',
      description: 'The value of X-Request-Id.',
      examples: [exampleRequestId],
    },
  }
}
