// openapi.json, from the one schema of a plan and the one table of errors: node src/site/openapi.ts writes it, and with
// --check ends with 1 where it is stale. Node only.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseCatalog } from '../catalog/catalog-file.ts'
import { planSchema, type Plan } from '../catalog/plan-schema.ts'
import { refusals, type ErrorCode } from '../worker/http/api-error.ts'

const file = join(import.meta.dirname, 'openapi.json')

/** One plan of the demo catalog, as partners see it. */
const examplePlan = await readDemoPlan(110)

const requestId = '43462e96-44fc-4132-ae0f-c867b3032b99'

const openapi = {
  openapi: '3.1.1',
  info: {
    title: 'Partner Investment Plan Catalog',
    version: '3.0.0',
    description:
      'Your server exchanges a client ID and secret for a short-lived bearer token, and lists the investment plans that may be offered in your country. The API answers no cross-origin requests of browsers: the secret belongs on your server.',
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  },
  servers: [{ url: '/', description: 'The origin that serves this document' }],
  tags: [
    { name: 'Token', description: 'Client credentials for an access token.' },
    { name: 'Plans', description: 'The plans of your country.' },
  ],
  paths: {
    '/api/v3/partners/auth': { post: tokenOperation() },
    '/api/v3/partners/{shortName}/plans': { get: plansOperation() },
  },
  components: {
    securitySchemes: {
      clientCredentials: {
        type: 'http',
        scheme: 'basic',
        description: 'Client ID and client secret (RFC 7617), in the Authorization header alone.',
      },
      accessToken: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'An access token of the token endpoint (RFC 6750). Treat it as an opaque text.',
      },
    },
    headers: {
      RequestId: {
        description: 'Names the request. Quote it when you ask for help.',
        required: true,
        schema: { type: 'string', format: 'uuid' },
        example: requestId,
      },
      ETag: {
        description: 'Names this list (RFC 9110 section 8.8.3). Send it as If-None-Match next time.',
        required: true,
        schema: { type: 'string', pattern: '^"[A-Za-z0-9_-]{22}"$' },
        example: '"MDfm93pYf5ukiPWD3U3ZBQ"',
      },
      CacheControl: {
        description: 'Keep the list for your own use, and ask each time whether it has changed (RFC 9111).',
        required: true,
        schema: { type: 'string', const: 'private, no-cache' },
      },
      NoStore: {
        description: 'Nothing of this is to be stored (RFC 9111).',
        required: true,
        schema: { type: 'string', const: 'no-store' },
      },
      Vary: {
        description: 'The list is that of the token’s partner.',
        required: true,
        schema: { type: 'string', const: 'Authorization' },
      },
      CacheStatus: {
        description: 'Which of our tiers answered, and how long its copy is fresh (RFC 9211).',
        required: true,
        schema: { type: 'string' },
        example: 'memory; hit; ttl=42',
      },
      BasicChallenge: {
        description: 'What to authenticate with (RFC 9110 section 11.6.1, RFC 7617).',
        required: true,
        schema: { type: 'string', const: 'Basic realm="partners", charset="UTF-8"' },
      },
      BearerChallenge: {
        description: 'What to authenticate with (RFC 9110 section 11.6.1, RFC 6750).',
        required: true,
        schema: { type: 'string' },
        example: 'Bearer realm="partners", error="invalid_token"',
      },
      RetryAfter: {
        description: 'Seconds to wait before the next attempt (RFC 9110 section 10.2.3).',
        required: true,
        schema: { type: 'string', pattern: '^[0-9]+$' },
        example: '5',
      },
    },
    schemas: {
      AccessToken: {
        type: 'object',
        description: 'An access token and its lifetime (RFC 6749 section 5.1). There is no refresh token.',
        properties: {
          access_token: {
            type: 'string',
            description: 'A JWT, sent as a bearer token on later requests.',
            pattern: '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$',
            examples: ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBQiJ9.c2lnbmF0dXJl'],
          },
          expires_in: {
            type: 'integer',
            minimum: 1,
            description: 'Lifetime of the token in seconds.',
            examples: [3600],
          },
          token_type: { type: 'string', const: 'Bearer', description: 'Always Bearer.', examples: ['Bearer'] },
        },
        required: ['access_token', 'expires_in', 'token_type'],
      },
      PlanList: {
        type: 'object',
        description: 'Every plan that matches, in ascending id.',
        properties: {
          message: {
            type: 'string',
            description: 'Status text for people.',
            examples: ['Plans fetched successfully'],
          },
          data: {
            type: 'object',
            description: 'The plans, and how many they are.',
            properties: {
              total: { type: 'integer', minimum: 0, description: 'Count of the plans.', examples: [1] },
              plans: {
                type: 'array',
                description: 'The full list; it is never paginated.',
                items: { $ref: '#/components/schemas/Plan' },
              },
            },
            required: ['total', 'plans'],
          },
        },
        required: ['message', 'data'],
      },
      Plan: describePlan(),
      Error: {
        type: 'object',
        description: 'The one shape of every answer of the API outside 2xx and 304.',
        properties: {
          message: {
            type: 'string',
            description: 'What is wrong, and what would be right; for people.',
            examples: [refusals.invalid_token.message],
          },
          error: {
            type: 'string',
            description: 'A stable code, for programs. There may be new ones.',
            examples: Object.keys(refusals),
          },
          requestId: {
            type: 'string',
            format: 'uuid',
            description: 'The value of X-Request-Id.',
            examples: [requestId],
          },
        },
        required: ['message', 'error', 'requestId'],
      },
    },
  },
} as const

function tokenOperation() {
  return {
    operationId: 'issueAccessToken',
    tags: ['Token'],
    summary: 'Exchange client credentials for an access token',
    description:
      'Credentials go into the Authorization header alone. A body is allowed and never read, so that OAuth 2 client libraries work as they are. Every call issues a token with its full life; earlier ones stay valid.',
    security: [{ clientCredentials: [] }],
    responses: {
      200: {
        description: 'An access token.',
        headers: { 'X-Request-Id': headerRef('RequestId'), 'Cache-Control': headerRef('NoStore') },
        content: json('AccessToken', {
          access_token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBQiJ9.c2lnbmF0dXJl',
          expires_in: 3600,
          token_type: 'Bearer',
        }),
      },
      ...describeRefusals('invalid_request', 'invalid_client', 'rate_limited', 'internal_error', 'unavailable'),
    },
  }
}

function plansOperation() {
  return {
    operationId: 'listPlans',
    tags: ['Plans'],
    summary: 'List the plans of your country',
    description:
      'The plans that are viewable in your country and match every filter; if nothing matches, an empty list. An empty value counts as not given, an unknown parameter is ignored; a filter that is given twice or can’t be read is a 400. HEAD is answered, too.',
    security: [{ accessToken: [] }],
    parameters: [
      {
        name: 'shortName',
        in: 'path',
        required: true,
        description: 'Your short name: the one of the access token.',
        schema: { type: 'string', minLength: 1 },
        example: 'acme',
      },
      {
        name: 'categoryId',
        in: 'query',
        description: 'Only plans of this category.',
        schema: { type: 'integer', minimum: 0 },
        example: 707,
      },
      {
        name: 'fundType',
        in: 'query',
        description: 'Only plans of exactly this fund type.',
        schema: { type: 'string' },
        example: 'COMMODITY',
      },
      {
        name: 'currency',
        in: 'query',
        description: 'Only plans of this base currency: three letters, in any case.',
        schema: { type: 'string', pattern: '^[A-Za-z]{3}$' },
        example: 'USD',
      },
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'The ETag of your last list of the same filters: while it is that of now, the answer is a 304.',
        schema: { type: 'string' },
        example: '"MDfm93pYf5ukiPWD3U3ZBQ"',
      },
    ],
    responses: {
      200: {
        description: 'The plans.',
        headers: listHeaders(),
        content: json('PlanList', {
          message: 'Plans fetched successfully',
          data: { total: 1, plans: [examplePlan] },
        }),
      },
      304: { description: 'The list has not changed since the ETag was given.', headers: listHeaders() },
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

function listHeaders() {
  return {
    'X-Request-Id': headerRef('RequestId'),
    ETag: headerRef('ETag'),
    'Cache-Control': headerRef('CacheControl'),
    Vary: headerRef('Vary'),
    'Cache-Status': headerRef('CacheStatus'),
  }
}

/** By status; codes that share one are its examples. */
function describeRefusals(...codes: ErrorCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => refusals[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      status,
      {
        description: ofStatus.map((code) => `\`${code}\`: ${refusals[code].message}`).join(' '),
        headers: {
          'X-Request-Id': headerRef('RequestId'),
          'Cache-Control': headerRef('NoStore'),
          ...(status === 401 && {
            'WWW-Authenticate': headerRef(ofStatus.includes('invalid_client') ? 'BasicChallenge' : 'BearerChallenge'),
          }),
          ...((status === 429 || status === 503) && { 'Retry-After': headerRef('RetryAfter') }),
        },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            examples: Object.fromEntries(
              ofStatus.map((code) => [code, { value: { message: refusals[code].message, error: code, requestId } }]),
            ),
          },
        },
      },
    ]),
  )
}

function json(schema: string, example: unknown) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } }
}

function headerRef(name: string) {
  return { $ref: `#/components/headers/${name}` }
}

/**
 * The schema of an import, without what JSON Schema can't say, and open to fields that may come; each field with the
 * demo plan's value for an example.
 */
function describePlan() {
  const {
    $schema: _schema,
    properties = {},
    ...plan
  } = z.toJSONSchema(planSchema, {
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  const described = Object.entries(properties).map(([name, field]) => {
    const example: unknown = Reflect.get(examplePlan, name)
    return [name, { ...Object(field), examples: [example] }] as const
  })
  return {
    ...plan,
    description: 'An investment plan.',
    properties: Object.fromEntries(described),
  }
}

/** @returns a plan of the demo catalog, as partners see it. */
export async function readDemoPlan(planId: number): Promise<Plan> {
  const parsed = parseCatalog(await readFile(join(import.meta.dirname, '../catalog/demo.json'), 'utf8'))
  const found = parsed.kind === 'catalog' ? parsed.plans.find(({ id }) => id === planId) : undefined
  if (found === undefined) throw new Error(`The demo catalog has no plan ${planId}.`)
  const { viewableIn: _viewableIn, ...plan } = found
  return plan
}

function formatOpenapi(): string {
  return `${JSON.stringify(openapi, null, 2)}\n`
}

if (import.meta.main) {
  const isStale = (await readFile(file, 'utf8').catch(() => '')) !== formatOpenapi()
  if (!process.argv.includes('--check')) await writeFile(file, formatOpenapi())
  else if (isStale) {
    process.stderr.write('src/openapi/openapi.json is stale: npm run openapi writes it anew.\n')
    process.exitCode = 1
  }
}
