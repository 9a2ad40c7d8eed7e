// wrangler.toml: the settings of an environment, as wrangler reads them.
import { readFile } from 'node:fs/promises'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { abbreviate } from '../../abbreviate.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'

const configFile = 'wrangler.toml'

/** What an environment takes from the top level when it doesn't set it. It takes no bindings, secrets and variables. */
const inherited = z.object({
  account_id: z.string().optional(),
  compatibility_date: z.string(),
  route: z.unknown().optional(),
  routes: z.array(z.unknown()).optional(),
  workers_dev: z.boolean().optional(),
  triggers: z.object({ crons: z.array(z.string()).optional() }).optional(),
})
/** What each environment has of its own. */
const own = z.object({
  name: z.string(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z
    .array(
      z.object({
        binding: z.string(),
        database_id: z.string().optional(),
        preview_database_id: z.string().optional(),
      }),
    )
    .default([]),
  kv_namespaces: z
    .array(z.object({ binding: z.string(), id: z.string().optional(), preview_id: z.string().optional() }))
    .default([]),
  ratelimits: z.array(z.object({ name: z.string() })).default([]),
  version_metadata: z.object({ binding: z.string() }).optional(),
  analytics_engine_datasets: z.array(z.object({ binding: z.string(), dataset: z.string().optional() })).default([]),
})
const settings = z.object({ ...inherited.shape, ...own.shape })

/** The settings that the command line needs. */
export type WranglerConfig = z.infer<typeof settings>

/**
 * Reads the settings of an environment, or of the top level.
 * @throws UserError when the file can't be used, or has no such environment: wrangler itself would use the top level.
 */
export async function readWranglerConfig(env: string | undefined): Promise<WranglerConfig> {
  try {
    const file = z
      .looseObject({ name: z.string().optional(), env: z.record(z.string(), z.looseObject({})).default({}) })
      .parse(parse(await readFile(configFile, 'utf8')))
    if (env === undefined) return settings.parse(file)
    const environment = file.env[env]
    if (environment === undefined) {
      const names = Object.keys(file.env).join(', ')
      throw new UserError(`${configFile} has no environment ${abbreviate(env)}. It has: ${names}.`)
    }
    const shared = Object.keys(inherited.shape).map((key) => [key, file[key]])
    const name = file.name === undefined ? undefined : `${file.name}-${env}`
    return settings.parse({ ...Object.fromEntries(shared), name, ...environment })
  } catch (error) {
    if (readPath(error, 'code') === 'ENOENT') throw new UserError(`There is no ${configFile} in ${process.cwd()}.`)
    if (error instanceof TomlError)
      throw new UserError(`${configFile} is no TOML, line ${error.line}: ${error.message}`)
    if (error instanceof z.ZodError) throw new UserError(`${configFile} can't be used:\n${z.prettifyError(error)}`)
    throw error
  }
}

const findDatabase = (config: WranglerConfig) => config.d1_databases.find(({ binding }) => binding === 'DB')
const findNamespace = (config: WranglerConfig) =>
  config.kv_namespaces.find(({ binding }) => binding === 'CATALOG_CACHE')

/** The database and the cache of an environment. */
export function findBindings(config: WranglerConfig) {
  return {
    // An empty ID is none.
    databaseId: findDatabase(config)?.database_id || undefined,
    namespaceId: findNamespace(config)?.id || undefined,
  }
}

/** The names of both in the local state. */
export function findLocalIds(config: WranglerConfig) {
  const [database, namespace] = [findDatabase(config), findNamespace(config)]
  return {
    databaseId: database?.preview_database_id ?? database?.database_id ?? 'DB',
    namespaceId: namespace?.preview_id ?? namespace?.id ?? 'CATALOG_CACHE',
  }
}
