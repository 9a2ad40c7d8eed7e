// Creates everything that an isolate keeps in memory between requests, and sets the limits of its size.
import { createConfigReader } from '../api/config.ts'
import { createVerifyToken } from './access/verified-tokens.ts'
import { createCatalogCache } from './cache/catalog-cache.ts'
import { createRespondConditionally } from './http/conditional-response.ts'
import { createLineBudget } from './http/line-budget.ts'
import { createVerifiedSecrets } from './token/verified-secrets.ts'

const bounds = {
  /** Memory for plan lists: one list of 10,000 plans of 2 kB, or 400 lists of 30 plans. */
  maxBytes: 24 * 1024 * 1024,
  maxPartners: 10_000,
  /**
   * Memory for lists that clients are still receiving and that the cache does not hold: three lists of 10,000 plans. An isolate has
   * 128 MB. The benchmark fails if these lists and the cache take more than 100 MB.
   */
  maxStreamedBytes: 52 * 1024 * 1024,
}

export function createIsolate({ maxStreamedBytes, ...cacheBounds } = bounds) {
  const cache = createCatalogCache(cacheBounds)
  return {
    readConfig: createConfigReader(),
    verifyToken: createVerifyToken({ maxTokens: 1000 }),
    verifiedSecrets: createVerifiedSecrets({ maxSecrets: 1000, lifetimeMs: 10 * 60_000 }),
    ...cache,
    respondConditionally: createRespondConditionally(maxStreamedBytes, cache.isHeld),
    allowLine: createLineBudget(),
  }
}
