// Everything that one isolate remembers between requests, with its bounds. Nothing else in src/worker holds state.
import { createConfigReader } from '../api/config.ts'
import { createVerifiedTokens } from './access/verified-tokens.ts'
import { createCatalogCache } from './cache/catalog-cache.ts'
import { createRespondConditionally } from './http/conditional-response.ts'
import { createLineBudget } from './http/line-budget.ts'
import { createVerifiedSecrets } from './token/verified-secrets.ts'

const bounds = {
  /** Hold a list of 10,000 plans of 2 kB, or 400 lists of 30 plans. */
  maxBytes: 24 * 1024 * 1024,
  maxPartners: 10_000,
  /**
   * Three lists of 10,000 plans, besides the lists of the cache, which readers may still hold after the cache evicts them: at most
   * 100 MB in all. An isolate has 128 MB.
   */
  maxStreamedBytes: 52 * 1024 * 1024,
}

export function createIsolate({ maxStreamedBytes, ...cacheBounds } = bounds) {
  const cache = createCatalogCache(cacheBounds)
  return {
    readConfig: createConfigReader(),
    verifyToken: createVerifiedTokens({ maxTokens: 1000 }),
    verifiedSecrets: createVerifiedSecrets({ maxSecrets: 1000, lifetimeMs: 10 * 60_000 }),
    ...cache,
    respondConditionally: createRespondConditionally(maxStreamedBytes, cache.isHeld),
    takeLine: createLineBudget(),
  }
}
