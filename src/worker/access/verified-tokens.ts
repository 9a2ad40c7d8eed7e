// Remembers the tokens that this isolate has verified: a partner's server sends the same token for an hour. Only the times in the
// token are checked again.
import { createBoundedMap } from '../bounded-map.ts'
import { checkTimes, verifyAccessToken, type AccessTokenClaims, type VerifiedToken } from '../../crypto/access-token.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'

export type VerifyToken = (token: string, keys: readonly SigningKey[], nowSeconds: number) => Promise<VerifiedToken>

export function createVerifyToken({ maxTokens }: { maxTokens: number }): VerifyToken {
  /** The claims of tokens, by the set of keys that verified the tokens: a new set of keys verifies each token again. */
  const claimsByKeys = new WeakMap<readonly SigningKey[], ReturnType<typeof createBoundedMap<AccessTokenClaims>>>()

  return async (token, keys, nowSeconds) => {
    const known = claimsByKeys.get(keys) ?? createBoundedMap<AccessTokenClaims>(maxTokens)
    claimsByKeys.set(keys, known)
    const claims = known.get(token)
    if (claims) return checkTimes(claims, nowSeconds)

    const verified = await verifyAccessToken(token, keys, nowSeconds)
    if (verified.kind === 'valid') known.set(token, verified.claims)
    return verified
  }
}
