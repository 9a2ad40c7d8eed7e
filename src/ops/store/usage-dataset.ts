// The dataset that the Worker of a deployed environment counts requests in.
import { UserError } from '../shared/user-error.ts'
import { openAccount } from './cloudflare-api.ts'
import { refuse } from './failure.ts'
import type { Target } from '../shared/target.ts'

/**
 * Asks the dataset of an environment. Cloudflare creates it with the first request.
 * @param write gets its name, and returns SQL.
 */
export type QueryUsage = (write: (dataset: string) => string) => Promise<Record<string, unknown>[]>

/** @throws UserError for a local state, whose requests nobody counts. */
export function checkHasUsage({ remote }: Target): void {
  if (!remote) throw new UserError('There is no data locally: add --remote --env NAME.')
}

/** @throws UserError when no dataset is configured, as locally, or Cloudflare refuses. */
export async function openUsageDataset(target: Target): Promise<QueryUsage> {
  checkHasUsage(target)
  const { wrangler, ask } = await openAccount(target)
  const dataset = wrangler.analytics_engine_datasets.find(({ binding }) => binding === 'USAGE')?.dataset
  if (dataset === undefined) {
    throw new UserError(`wrangler.toml has no dataset of USAGE in [env.${target.env}]. Add it there.`)
  }
  return (write) => ask(`${write(dataset)} FORMAT JSON`).catch(refuse)
}
