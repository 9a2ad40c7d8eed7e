// What this isolate remembers of tokens that it has verified: a partner's server brings the same one for as long as it
// lives. Only what time changes is looked at again.
import { setBounded } from '../cache/bounded-map.ts'
import { checkTimes, verifyAccessToken, type AccessTokenClaims, type VerifiedToken } from '../../crypto/access-token.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'

const mostTokens = 1000

/** By the set of keys that verified them: another set begins anew. */
const claimsByKeys = new WeakMap<readonly SigningKey[], Map<string, AccessTokenClaims>>()

export async function verifyOnce(
  token: string,
  keys: readonly SigningKey[],
  nowSeconds: number,
): Promise<VerifiedToken> {
  const known = claimsByKeys.get(keys)
  const claims = known?.get(token)
  if (claims) return checkTimes(claims, nowSeconds)

  const verified = await verifyAccessToken(token, keys, nowSeconds)
  if (verified.kind === 'valid') {
    const remembered = known ?? new Map<string, AccessTokenClaims>()
    claimsByKeys.set(keys, remembered)
    setBounded(remembered, token, verified.claims, mostTokens)
  }
  return verified
}
