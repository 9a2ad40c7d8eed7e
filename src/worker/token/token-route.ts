// POST /api/v3/partners/auth: exchanges client credentials for a short-lived access token.
import { issueAccessToken } from '../../crypto/access-token.ts'
import type { ReadConfig } from '../../api/config.ts'
import { ApiError } from '../http/api-error.ts'
import { createWarn } from '../http/app-env.ts'
import { commonHeaders } from '../http/common-headers.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'
import { createRoutes } from '../http/routes.ts'
import { authenticateClient, type ClientAuthentication } from './authenticate-client.ts'
import { parseBasic, type BasicDefect, type ClientCredentials } from './basic-credentials.ts'
import { ratePeriodSeconds } from './rate-limit.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

export interface TokenDependencies {
  readConfig: ReadConfig
  verifiedSecrets: VerifiedSecrets
}

export function createTokenRoute({ readConfig, verifiedSecrets }: TokenDependencies) {
  return (
    createRoutes()
      // Never reads the body. OAuth libraries may send one, and it must not carry credentials.
      .post('/', async function token(c) {
        const { signingKeys, tokenLifetimeSeconds, pbkdf2Iterations } = await readConfig(c.env)
        const credentials = readCredentials(c.req.header('Authorization'))
        const nowMs = c.get('nowMs')
        const client = await authenticateClient(
          { d1: c.env.DB, rateLimits: c.env, verifiedSecrets, pbkdf2Iterations, warn: createWarn(c) },
          credentials,
          { address: c.req.header('CF-Connecting-IP'), nowMs },
        )
        if (client.shortName !== undefined) c.set('partner', { shortName: client.shortName })
        if (client.kind !== 'authenticated') throw createClientRefusal(client)

        const accessToken = await issueAccessToken(
          { sub: credentials.clientId, partner: client.shortName, country: client.country },
          { key: signingKeys[0], nowSeconds: Math.floor(nowMs / 1000), lifetimeSeconds: tokenLifetimeSeconds },
        )
        return Response.json(
          { access_token: accessToken, expires_in: tokenLifetimeSeconds, token_type: 'Bearer' },
          { headers: { ...commonHeaders(c.get('requestId')), 'Cache-Control': 'no-store' } },
        )
      })
      .all('/', methodNotAllowed('POST'))
  )
}

const basicDefectMessages: Record<BasicDefect, string> = {
  missing: 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.',
  'not-basic': 'The Authorization header must use the Basic scheme: Basic <Base64 of client_id:client_secret>.',
  malformed:
    'The Authorization header is malformed. Send Basic, a space, and the Base64 of client_id:client_secret in UTF-8.',
}

function readCredentials(header: string | undefined): ClientCredentials {
  const parsed = parseBasic(header)
  if (parsed.kind === 'credentials') return parsed.credentials
  throw new ApiError('invalid_request', { message: basicDefectMessages[parsed.kind], reason: parsed.kind })
}

function createClientRefusal(client: Exclude<ClientAuthentication, { kind: 'authenticated' }>): ApiError {
  switch (client.kind) {
    case 'rate_limited':
      return new ApiError('rate_limited', { headers: { 'Retry-After': String(ratePeriodSeconds) } })
    case 'refused':
      return new ApiError('invalid_client', {
        reason: client.reason,
        headers: { 'WWW-Authenticate': 'Basic realm="partners", charset="UTF-8"' },
      })
  }
}
