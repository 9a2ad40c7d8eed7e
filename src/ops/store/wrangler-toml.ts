// Reads the settings of an environment from wrangler.toml, as wrangler does. Wrangler's own reader takes a second to load.
import { readFile } from 'node:fs/promises'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

/** The settings that an environment inherits from the top level of the file. An environment inherits no bindings and no variables. */
const inherited = z.object({
  account_id: z.string().optional(),
  compatibility_date: z.string(),
  route: z.unknown().optional(),
  routes: z.array(z.unknown()).optional(),
})
const binding = z.object({ binding: z.string() })
const settings = inherited.extend({
  name: z.string(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z.array(binding.extend({ database_id: z.string().optional() })).default([]),
  kv_namespaces: z.array(binding.extend({ id: z.string().optional() })).default([]),
  analytics_engine_datasets: z.array(binding.extend({ dataset: z.string().optional() })).default([]),
})

/** The settings of an environment that the command line needs. */
export type WranglerConfig = z.infer<typeof settings>

/** Without `env`, reads the top level. @throws UserError for a missing or wrong file, or an unknown environment: wrangler itself would then take the top level. */
export async function readWranglerConfig(env?: string): Promise<WranglerConfig> {
  try {
    const { env: environments, ...topLevel } = z
      .looseObject({ name: z.string(), env: z.record(z.string(), z.looseObject({})).default({}) })
      .parse(parse(await readFile('wrangler.toml', 'utf8')))
    if (env === undefined) return settings.parse(topLevel)
    const ownSettings = environments[env]
    if (ownSettings === undefined) {
      const names = Object.keys(environments).join(', ')
      throw new UserError(`wrangler.toml has no environment ${abbreviate(env)}. It has: ${names}.`)
    }
    return settings.parse({ ...inherited.parse(topLevel), name: `${topLevel.name}-${env}`, ...ownSettings })
  } catch (error) {
    if (error instanceof UserError || !(error instanceof Error)) throw error
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : error.message
    throw new UserError(`wrangler.toml can't be used: ${problem}`)
  }
}

/** @returns the IDs of the D1 database and the KV namespace of an environment; undefined for an ID that is missing or empty. */
export function getStoreIds(config: WranglerConfig) {
  const database = config.d1_databases.find((one) => one.binding === 'DB')
  const namespace = config.kv_namespaces.find((one) => one.binding === 'CATALOG_CACHE')
  return { databaseId: database?.database_id || undefined, namespaceId: namespace?.id || undefined }
}
