// Decides whether client credentials are right.
import { findMatchingHash } from '../../crypto/client-secret.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import type { CacheContext } from '../cache/cache-context.ts'
import type { ClientFacts, DecideSignIn } from '../cache/catalog-cache.ts'
import { countAttempt, countUse, type RateLimits } from '../rate-limit.ts'
import type { ClientCredentials } from './basic-credentials.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

/** Why a client is refused. For the log: the client sees only `invalid_client`. */
type ClientRefusal = 'unknown_client' | 'suspended_partner' | 'wrong_secret'

export type ClientAuthentication =
  | ({ kind: 'authenticated'; partner: PartnerAccess } & Pick<ClientFacts, 'nowSeconds' | 'asOfSeconds'>)
  /** `partner` is given if the client ID exists. */
  | { kind: 'refused'; reason: ClientRefusal; partner: PartnerAccess | undefined }

interface Dependencies {
  decideSignIn: DecideSignIn
  rateLimits: RateLimits
  verifiedSecrets: VerifiedSecrets
  /** The cost of a derivation for an unknown client. */
  pbkdf2Iterations: number
}

/**
 * Decides whether the client exists, is active, and has this secret.
 *
 * Deriving a key from a secret costs about 12 ms of CPU, so the rate limits come before it, and before D1. Credentials that this isolate
 * remembers cost no derivation, and have a limit of their own. If D1 says that the remembered secret was replaced, the sign-in counts as a
 * stranger's. A refusal costs two derivations, and in a pause of D1 four, whether or not the client exists. A 503 because no copy has the
 * secret costs the same.
 * @param network see `getNetwork`
 * @throws RateLimitError
 * @throws StorageError when D1 does not answer and the copy is not enough
 */
export async function authenticateClient(
  { decideSignIn, rateLimits, verifiedSecrets, pbkdf2Iterations }: Dependencies,
  credentials: ClientCredentials,
  network: string,
  context: CacheContext,
): Promise<ClientAuthentication> {
  const { clientId, clientSecret } = credentials
  const { nowMs, warn } = context
  const memory = await verifiedSecrets.recall(credentials, nowMs)
  let counted: Promise<void> | undefined
  /** Counts the request at most once. */
  const countStranger = () => (counted ??= countAttempt(rateLimits, network, clientId, warn))
  await (memory.hash === undefined ? countStranger() : countUse(rateLimits, 'known', clientId, warn))

  return decideSignIn(context, clientId, decide, async (client) => {
    const decision = await decide(client)
    // The copy may lack a newer secret, so it is not enough to refuse a client.
    return decision.kind === 'refused' ? undefined : decision
  })

  /** Compares the secret with the hashes that D1 or a copy has. */
  async function decide({
    partner,
    isOld,
    accept,
    nowSeconds,
    asOfSeconds,
  }: ClientFacts): Promise<ClientAuthentication> {
    const hashes = listLiveHashes(partner, nowSeconds)
    let hash = hashes.find((live) => live === memory.hash)
    if (hash === undefined) {
      // A remembered secret that D1 no longer has was replaced: from now on it costs derivations, and counts as a stranger's.
      if (!isOld) memory.forget()
      await countStranger()
      hash = await findMatchingHash(clientSecret, hashes, pbkdf2Iterations)
    }
    if (partner && hash !== undefined) {
      memory.remember(hash)
      accept()
      return { kind: 'authenticated', partner, nowSeconds, asOfSeconds }
    }
    if (partner?.isSuspended) return { kind: 'refused', reason: 'suspended_partner', partner }
    return { kind: 'refused', reason: partner ? 'wrong_secret' : 'unknown_client', partner }
  }
}

/** Lists the hashes of the secrets that work now: none of a suspended partner, so that refusing it costs as much as any other refusal. */
function listLiveHashes(partner: PartnerAccess | undefined, nowSeconds: number): string[] {
  if (partner === undefined || partner.isSuspended) return []
  return partner.secrets.flatMap(({ hash, expiresAt }) => (expiresAt === null || expiresAt > nowSeconds ? hash : []))
}
