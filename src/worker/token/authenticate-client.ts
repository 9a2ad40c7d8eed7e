// Decides whether client credentials are right.
import { findMatchingHash } from '../../crypto/client-secret.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import type { CacheContext } from '../cache/cache-context.ts'
import type { OpenSignIn, SignIn } from '../cache/catalog-cache.ts'
import { countAttempt, countUse, type RateLimits } from '../rate-limit.ts'
import type { ClientCredentials } from './basic-credentials.ts'
import type { VerifiedSecrets } from './verified-secrets.ts'

/** Why a client is refused. For the log: callers see only `invalid_client`. */
type ClientRefusal = 'unknown_client' | 'suspended_partner' | 'wrong_secret'

/** `partner` is given if the client ID exists and was looked up. */
export type ClientAuthentication =
  | ({ kind: 'authenticated'; partner: PartnerAccess } & Pick<SignIn, 'nowSeconds' | 'asOfSeconds'>)
  | { kind: 'refused'; reason: ClientRefusal; partner: PartnerAccess | undefined }

interface Dependencies {
  openSignIn: OpenSignIn
  rateLimits: RateLimits
  verifiedSecrets: VerifiedSecrets
  /** The cost of refusing an unknown client. */
  pbkdf2Iterations: number
}

/**
 * A derivation costs about 12 ms of CPU, so the limits come before it, and before D1. Credentials that this isolate remembers
 * cost no derivation and have a limit of their own. If D1 says that the secret was replaced, the sign-in counts as a stranger's. A refusal
 * always costs two derivations, and in a pause four, whether or not the client exists. A 503 for a secret that no copy has costs the same.
 * @throws RateLimitError
 * @throws StorageError when D1 does not answer and the copy is not enough
 */
export async function authenticateClient(
  { openSignIn, rateLimits, verifiedSecrets, pbkdf2Iterations }: Dependencies,
  credentials: ClientCredentials,
  network: string,
  context: CacheContext,
): Promise<ClientAuthentication> {
  const { clientId, clientSecret } = credentials
  const { nowMs, warn } = context
  const memory = await verifiedSecrets.recall(credentials, nowMs)
  /** Once for each request. */
  let counted: Promise<void> | undefined
  const countStranger = () => (counted ??= countAttempt(rateLimits, network, clientId, warn))
  await (memory.hash === undefined ? countStranger() : countUse(rateLimits, 'known', clientId, warn))

  return openSignIn(context, clientId, decide, async (client) => {
    const decision = await decide(client)
    // The copy may lack a newer secret, so it refuses nobody.
    return decision.kind === 'refused' ? undefined : decision
  })

  async function decide({ partner, isOld, accept, nowSeconds, asOfSeconds }: SignIn): Promise<ClientAuthentication> {
    const hashes = listLiveHashes(partner, nowSeconds)
    let hash = hashes.find((live) => live === memory.hash)
    if (hash === undefined) {
      // The remembered secret was replaced. From now on it costs derivations, and counts as a stranger's.
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

/** Treats a suspended partner as having no secrets, so that refusing it costs the same as any other refusal. */
function listLiveHashes(partner: PartnerAccess | undefined, nowSeconds: number): string[] {
  if (partner === undefined || partner.isSuspended) return []
  return partner.secrets.flatMap(({ hash, expiresAt }) => (expiresAt === null || expiresAt > nowSeconds ? hash : []))
}
