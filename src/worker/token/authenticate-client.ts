// Decides whether client credentials are right.
import { findMatchingHash } from '../../crypto/client-secret.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import type { CacheContext } from '../cache/cache-context.ts'
import type { ClientFacts, DecideSignIn } from '../cache/catalog-cache.ts'
import { countClientUse, countUnverifiedSignIn, type RateLimits } from '../rate-limit.ts'
import type { ClientCredentials } from './basic-credentials.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

/** The reason of a refusal. Only the log gets it: the client sees only `invalid_client`. */
type ClientRefusal = 'unknown_client' | 'suspended_partner' | 'wrong_secret'

export type ClientAuthentication =
  | ({ kind: 'authenticated'; partner: PartnerAccess } & Pick<ClientFacts, 'nowSeconds' | 'asOfSeconds'>)
  /** `partner` is undefined if the client ID does not exist. */
  | { kind: 'refused'; reason: ClientRefusal; partner: PartnerAccess | undefined }

interface Dependencies {
  decideSignIn: DecideSignIn
  rateLimits: RateLimits
  verifiedSecrets: VerifiedSecrets
  /** The iterations of PBKDF2 for refusing an unknown client as slowly as a known one. */
  pbkdf2Iterations: number
}

/**
 * Decides whether the client exists, is active, and has this secret.
 *
 * Hashing a secret takes about 12 ms of CPU, so the rate limits are checked first, before D1 is asked. Credentials that this isolate
 * remembers are not hashed, and have a rate limit of their own. If the client no longer has the remembered hash, the credentials also count
 * as unverified, and are hashed. A refusal hashes the secret twice, so that its duration does not tell whether the client exists. In a pause after a failure of
 * D1, a refusal hashes it four times: twice for the copy, and twice for D1's answer. A 503, because D1 fails and no copy has the secret,
 * hashes it as often as a refusal.
 * @param network see `getNetwork`
 * @throws RateLimitError if the network or the client has too many sign-ins
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
  const memoryEntry = await verifiedSecrets.recall(credentials, nowMs)
  let unverifiedCount: Promise<void> | undefined
  /** Counts the sign-in as unverified, at most once. @throws RateLimitError */
  const countUnverified = () => (unverifiedCount ??= countUnverifiedSignIn(rateLimits, network, clientId, warn))
  if (memoryEntry.hash === undefined) await countUnverified()
  else await countClientUse(rateLimits, 'known', clientId, warn)

  return decideSignIn(context, clientId, decideByFacts, async (clientInCopy) => {
    const decision = await decideByFacts(clientInCopy)
    // A copy may lack a newer secret, so no client is refused because of a copy.
    return decision.kind === 'refused' ? undefined : decision
  })

  /** Decides by the client's data, which D1's answer or a copy gave. Remembers right credentials; forgets those whose hash D1 no longer has. @throws RateLimitError */
  async function decideByFacts(client: ClientFacts): Promise<ClientAuthentication> {
    const { partner, isFallback, onVerified, nowSeconds, asOfSeconds } = client
    const hashes = listLiveHashes(partner, nowSeconds)
    let hash = hashes.find((liveHash) => liveHash === memoryEntry.hash)
    if (hash === undefined) {
      // If D1 no longer has the remembered hash, the next sign-in must count as unverified.
      if (!isFallback) memoryEntry.forget()
      await countUnverified()
      hash = await findMatchingHash(clientSecret, hashes, pbkdf2Iterations)
    }
    if (partner && hash !== undefined) {
      memoryEntry.remember(hash)
      onVerified()
      return { kind: 'authenticated', partner, nowSeconds, asOfSeconds }
    }
    if (partner?.isSuspended) return { kind: 'refused', reason: 'suspended_partner', partner }
    return { kind: 'refused', reason: partner ? 'wrong_secret' : 'unknown_client', partner }
  }
}

/** Lists the hashes of the secrets that work now. Treats a suspended partner as having none, so its refusal takes as long as any other refusal. */
function listLiveHashes(partner: PartnerAccess | undefined, nowSeconds: number): string[] {
  if (partner === undefined || partner.isSuspended) return []
  // The current secret has no `expiresAt`.
  const liveSecrets = partner.secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowSeconds)
  return liveSecrets.map(({ hash }) => hash)
}
