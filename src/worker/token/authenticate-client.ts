// Decides whether client credentials are right.
import { findMatchingHash } from '../../crypto/client-secret.ts'
import { selectClient, type Client } from '../../db/client-queries.ts'
import type { Warn } from '../log.ts'
import { queryD1 } from '../query-d1.ts'
import type { ClientCredentials } from './basic-credentials.ts'
import { countAttempt, type RateLimits } from './rate-limit.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

/** Why a client is refused. For the log; callers see only `invalid_client`. */
export type ClientRefusal = 'unknown_client' | 'suspended_partner' | 'wrong_secret'

/** `shortName` is the short name of the partner, if the client ID exists and was looked up. */
export type ClientAuthentication =
  | { kind: 'authenticated'; shortName: string; country: string }
  | { kind: 'rate_limited'; shortName: string | undefined }
  | { kind: 'refused'; reason: ClientRefusal; shortName: string | undefined }

interface Dependencies {
  d1: D1Database
  rateLimits: RateLimits
  verifiedSecrets: VerifiedSecrets
  /** The cost of refusing an unknown client. */
  pbkdf2Iterations: number
  warn: Warn
}

/**
 * A derivation costs about 12 ms of CPU, so both rate limits come before it, and before D1. A secret that this isolate
 * remembers costs no derivation and is not limited if it is this client's; otherwise it is limited after D1 was read.
 * A refusal always costs two derivations, known client or not.
 * @throws StorageError when D1 does not answer
 */
export async function authenticateClient(
  { d1, rateLimits, verifiedSecrets, pbkdf2Iterations, warn }: Dependencies,
  { clientId, clientSecret }: ClientCredentials,
  { address, nowMs }: { address: string | undefined; nowMs: number },
): Promise<ClientAuthentication> {
  const isWithinLimits = () => countAttempt(rateLimits, { address, clientId }, warn)
  const known = await verifiedSecrets.recall(clientSecret, nowMs)
  if (known === undefined && !(await isWithinLimits())) return { kind: 'rate_limited', shortName: undefined }

  const client = await queryD1(selectClient(d1, clientId))
  const shortName = client?.shortName
  const hashes = listLiveHashes(client, nowMs / 1000)
  if (client && known !== undefined && hashes.includes(known.hash)) {
    known.renew()
    return { kind: 'authenticated', shortName: client.shortName, country: client.country }
  }
  // The remembered secret is not this client's, or was rotated. It costs derivations, so it is limited here, after D1.
  if (known !== undefined && !(await isWithinLimits())) return { kind: 'rate_limited', shortName }

  const matchingHash = await findMatchingHash(clientSecret, hashes, pbkdf2Iterations)
  if (client === undefined) return { kind: 'refused', reason: 'unknown_client', shortName }
  if (client.isSuspended) return { kind: 'refused', reason: 'suspended_partner', shortName }
  if (matchingHash === undefined) return { kind: 'refused', reason: 'wrong_secret', shortName }
  await verifiedSecrets.remember(clientSecret, matchingHash, nowMs)
  return { kind: 'authenticated', shortName: client.shortName, country: client.country }
}

/** Treats a suspended partner as having no secrets, so that refusing it costs the same as any other refusal. */
function listLiveHashes(client: Client | undefined, nowSeconds: number): string[] {
  if (client === undefined || client.isSuspended) return []
  return client.secrets.flatMap(({ hash, expiresAt }) => (expiresAt === null || expiresAt > nowSeconds ? hash : []))
}
