import { createBoundedMap } from '../bounded-map.ts'
import { verifyAccessToken, verifyTimes, type AccessTokenClaims } from '../../crypto/access-token.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'

export type VerifyToken = typeof verifyAccessToken

/**
 * Returns a function like `verifyAccessToken` that remembers the valid tokens, because a partner's server sends the same token for an
 * hour. A remembered token needs only a new check of its times.
 */
export function createVerifyToken({ maxTokens }: { maxTokens: number }): VerifyToken {
  /** For each array of keys, the claims of the tokens that it verified, by token. Another array, even with the same keys, verifies them again. */
  const claimsByKeys = new WeakMap<readonly SigningKey[], ReturnType<typeof createBoundedMap<AccessTokenClaims>>>()

  return async (token, keys, nowSeconds) => {
    const claimsByToken = claimsByKeys.get(keys) ?? createBoundedMap<AccessTokenClaims>(maxTokens)
    claimsByKeys.set(keys, claimsByToken)
    const claims = claimsByToken.get(token)
    if (claims) return verifyTimes(claims, nowSeconds)

    const verdict = await verifyAccessToken(token, keys, nowSeconds)
    if (verdict.kind === 'valid') claimsByToken.set(token, verdict.claims)
    return verdict
  }
}
