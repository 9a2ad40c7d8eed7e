// Everything that this project assumes of Cloudflare. DEPLOY.md ends with this table.
import { databaseExperiments } from './database-experiments.ts'
import type { Assumption } from './experiment.ts'
import { rollbackExperiments, serviceExperiments } from './service-experiments.ts'

/** What one run on one account can't decide. */
const untried = [
  {
    assumption:
      'A new account has no workers.dev subdomain and no Analytics Engine, and a free one refuses `[limits]`.',
    source: 'issues of cloudflare/workers-sdk; wrangler’s source',
    whyUntried: 'where one of them is missing, the proof says so, and ends.',
  },
  {
    assumption: 'A D1 that is overloaded answers 429 with the code 7429; after “was reset”, the outcome is unknown.',
    source: 'issues of cloudflare/workers-sdk',
    whyUntried: 'nobody can cause it at will.',
  },
  {
    assumption: 'Cloudflare’s API allows 1,200 calls in five minutes, and answers 429 with Retry-After to more.',
    source: 'Cloudflare’s documentation',
    whyUntried: 'it would stop every other program of the account.',
  },
  {
    assumption: 'Without a terminal, wrangler takes over a DNS record and the domain of another Worker.',
    source: 'wrangler’s source',
    whyUntried: 'the proof has no domain.',
  },
  {
    assumption: 'A zone with default settings answers Python’s urllib with 403 and `error code: 1010`.',
    source: 'Cloudflare’s documentation',
    whyUntried: 'the proof has no zone. There, the smoke test of a deploy finds it.',
  },
]

export const assumptions: readonly Assumption[] = [
  ...databaseExperiments,
  ...serviceExperiments,
  ...rollbackExperiments,
  ...untried.map((one): Assumption => Object.assign({ experiment: `None: ${one.whyUntried}` }, one)),
]
