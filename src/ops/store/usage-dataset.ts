// The dataset that the Worker of a deployed environment counts requests in.
import { UserError } from '../shared/user-error.ts'
import { openAccount } from './cloudflare-api.ts'
import { refuse } from './failure.ts'
import type { Target } from '../shared/target.ts'

/** Selects from the dataset of an environment. */
export type QueryUsage = (select: string, where: string) => Promise<Record<string, unknown>[]>

/** @throws UserError when the environment has no dataset, or Cloudflare refuses. */
export async function openUsageDataset(target: Target): Promise<QueryUsage> {
  const { wrangler, ask } = await openAccount(target, 'Account Analytics Read')
  const dataset = wrangler.analytics_engine_datasets.find(({ binding }) => binding === 'USAGE')?.dataset
  if (dataset === undefined) {
    throw new UserError(`wrangler.toml has no dataset of USAGE in [env.${target.env}]. Add it there.`)
  }
  return (select, where) => ask(`SELECT ${select} FROM ${dataset} WHERE ${where} FORMAT JSON`).catch(refuse)
}
