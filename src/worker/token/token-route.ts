// POST /api/v3/partners/auth: client credentials for a short-lived access token.
import { Hono } from 'hono'
import { issueAccessToken } from '../../crypto/access-token.ts'
import { parseBasic, type ClientCredentials } from './basic-credentials.ts'
import { limitRate } from './rate-limit.ts'
import { findMatchingHash } from '../../crypto/client-secret.ts'
import { recallHash, rememberHash } from './verified-secrets.ts'
import { readConfig } from '../config.ts'
import { warnOf, type AppEnv } from '../context.ts'
import { runQuery } from '../../db/database.ts'
import { selectClient } from '../../db/partner-queries.ts'
import { ApiError } from '../http/api-error.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'

export const tokenRoute = new Hono<AppEnv>()
  // The body is never read: no credential is taken from it, and whatever an OAuth library posts is fine.
  .post('/', async function token(c) {
    const { signingKeys, tokenLifetimeSeconds, pbkdf2Iterations } = await readConfig(c.env)
    const { clientId, clientSecret } = readCredentials(c.req.header('Authorization'))
    const nowMs = c.get('nowMs')
    const nowSeconds = Math.floor(nowMs / 1000)

    const attempt = { address: c.req.header('CF-Connecting-IP'), clientId }
    const remembered = await recallHash(clientSecret, nowMs)
    // Before D1 is asked: a flood costs no query either.
    if (remembered === undefined) await limitRate(c.env, attempt, warnOf(c))
    const client = await runQuery(selectClient(c.env.DB, clientId))
    if (client) c.set('partner', { shortName: client.shortName })
    // Of a suspended partner no secret is right: its refusal costs what any other does.
    const hashes = (client?.isSuspended === false ? client.secrets : [])
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > nowSeconds)
      .map(({ hash }) => hash)
    let matching = hashes.find((hash) => hash === remembered)
    if (matching === undefined) {
      // Of another client, or rotated away.
      if (remembered !== undefined) await limitRate(c.env, attempt, warnOf(c))
      matching = await findMatchingHash(clientSecret, hashes, pbkdf2Iterations)
      if (matching !== undefined) await rememberHash(clientSecret, matching, nowMs)
    }

    if (client === undefined) throw invalidClient('unknown_client')
    if (client.isSuspended) throw invalidClient('suspended_partner')
    if (matching === undefined) throw invalidClient('wrong_secret')

    const accessToken = await issueAccessToken(
      { sub: clientId, partner: client.shortName },
      { key: signingKeys[0], nowSeconds, lifetimeSeconds: tokenLifetimeSeconds },
    )
    c.header('Cache-Control', 'no-store')
    return c.json({ access_token: accessToken, expires_in: tokenLifetimeSeconds, token_type: 'Bearer' })
  })
  .all('/', methodNotAllowed('POST'))

const malformedHeader = {
  missing: 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.',
  'not-basic': 'The Authorization header has to use the Basic scheme: Basic <Base64 of client_id:client_secret>.',
  malformed: 'The Authorization header is malformed: after Basic comes the Base64 of client_id:client_secret in UTF-8.',
}

function readCredentials(header: string | undefined): ClientCredentials {
  const parsed = parseBasic(header)
  if (parsed.kind === 'credentials') return parsed.credentials
  throw new ApiError('invalid_request', { message: malformedHeader[parsed.kind], reason: parsed.kind })
}

/** One body for every cause; only the log knows which. */
function invalidClient(reason: string): ApiError {
  return new ApiError('invalid_client', {
    reason,
    headers: { 'WWW-Authenticate': 'Basic realm="partners", charset="UTF-8"' },
  })
}
