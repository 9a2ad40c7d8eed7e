// Everything that one isolate remembers between requests, with its bounds. Nothing else in src/worker holds state.
import { createPartnerAccess, type FindPartner } from './access/partner-access.ts'
import { createVerifiedTokens, type VerifyToken } from './access/verified-tokens.ts'
import { createReadThroughCache, type ReadThrough } from './cache/read-through.ts'
import { createConfigReader, type ReadConfig } from './config.ts'
import { createVerifiedSecrets, type VerifiedSecrets } from './token/verified-secrets.ts'

export interface Isolate {
  readConfig: ReadConfig
  verifyToken: VerifyToken
  verifiedSecrets: VerifiedSecrets
  findPartner: FindPartner
  readThrough: ReadThrough
}

export function createIsolate(): Isolate {
  // 24 MB hold a list of 10,000 plans of 2 kB, or 400 lists of 30 plans.
  const readThrough = createReadThroughCache({ maxBytes: 24 * 1024 * 1024 })
  return {
    readConfig: createConfigReader(),
    verifyToken: createVerifiedTokens({ maxTokens: 1000 }),
    verifiedSecrets: createVerifiedSecrets({ maxSecrets: 1000, lifetimeMs: 10 * 60_000 }),
    findPartner: createPartnerAccess(readThrough),
    readThrough,
  }
}
