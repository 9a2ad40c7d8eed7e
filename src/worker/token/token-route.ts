// POST /api/v3/partners/auth: exchanges client credentials for a short-lived access token.
import { issueAccessToken } from '../../crypto/access-token.ts'
import { chooseSigningKey } from '../../crypto/signing-keys.ts'
import type { ReadConfig } from '../../api/config.ts'
import type { DecideSignIn } from '../cache/catalog-cache.ts'
import { ApiError } from '../http/api-error.ts'
import { createCommonHeaders } from '../app-env.ts'
import { createRoutes, refuseOtherMethods } from '../http/create-routes.ts'
import { createCacheContext } from '../cache/cache-context.ts'
import { getNetwork } from '../rate-limit.ts'
import { authenticateClient } from './authenticate-client.ts'
import { parseBasic, type BasicDefect, type ClientCredentials } from './basic-credentials.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

export interface TokenDependencies {
  readConfig: ReadConfig
  verifiedSecrets: VerifiedSecrets
  decideSignIn: DecideSignIn
}

export function createTokenEndpoint({ readConfig, verifiedSecrets, decideSignIn }: TokenDependencies) {
  return (
    createRoutes()
      // Never reads the body: OAuth libraries may send a body, and credentials in it must not work.
      .post('/', async function token(c) {
        const { signingKeys, seal, tokenLifetimeSeconds, pbkdf2Iterations } = await readConfig(c.env)
        const credentials = readCredentials(c.req.header('Authorization'))
        const context = createCacheContext(c, seal, credentials.clientId)
        const client = await authenticateClient(
          { decideSignIn, rateLimits: c.env, verifiedSecrets, pbkdf2Iterations },
          credentials,
          getNetwork(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker')),
          context,
        )
        if (client.partner) c.set('partner', { shortName: client.partner.shortName })
        if (client.kind === 'refused') {
          const headers = { 'WWW-Authenticate': 'Basic realm="partners", charset="UTF-8"' }
          throw new ApiError('invalid_client', { reason: client.reason, headers })
        }

        const { shortName, country, tokensValidFrom } = client.partner
        // The partner's data is complete only up to `asOfSeconds`. A lockdown after that time must end the token, so `iat` is this time,
        // and not the time now. But a token that is issued in the same second as a lockdown, and after it, must be valid.
        const iat = Math.max(client.asOfSeconds, tokensValidFrom ?? 0)
        const exp = client.nowSeconds + tokenLifetimeSeconds
        const claims = { sub: credentials.clientId, partner: shortName, country, iat, exp }
        const accessToken = await issueAccessToken(claims, chooseSigningKey(signingKeys, context.nowMs / 1000))
        return Response.json(
          { access_token: accessToken, expires_in: tokenLifetimeSeconds, token_type: 'Bearer' },
          // RFC 6749 section 5.1 requires the last two headers.
          { headers: { ...createCommonHeaders(c), 'Cache-Control': 'no-store', Pragma: 'no-cache' } },
        )
      })
      .all('/', refuseOtherMethods('POST'))
  )
}

const messagesByDefect: Record<BasicDefect, string> = {
  missing: 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.',
  malformed:
    'The Authorization header is malformed. Send Basic, a space, and the Base64 of client_id:client_secret in UTF-8, without a line break at the end.',
}

function readCredentials(header: string | undefined): ClientCredentials {
  const credentialsOrDefect = parseBasic(header)
  if (typeof credentialsOrDefect === 'object') return credentialsOrDefect
  throw new ApiError('invalid_request', { message: messagesByDefect[credentialsOrDefect], reason: credentialsOrDefect })
}
