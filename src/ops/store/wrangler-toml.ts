// wrangler.toml: the settings of an environment, as wrangler reads them, and the IDs that provisioning writes.
import { readFile } from 'node:fs/promises'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { abbreviate } from '../../abbreviate.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'

export const configFile = 'wrangler.toml'

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
  secrets: z.object({ required: z.array(z.string()).optional() }).optional(),
  d1_databases: z
    .array(
      z.object({
        binding: z.string(),
        database_id: z.string().optional(),
        preview_database_id: z.string().optional(),
        database_name: z.string().optional(),
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
  const database = findDatabase(config)
  return {
    // An empty ID is none.
    databaseId: database?.database_id || undefined,
    databaseName: database?.database_name,
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

const ids = {
  DB: { table: 'd1_databases', key: 'database_id' },
  CATALOG_CACHE: { table: 'kv_namespaces', key: 'id' },
} as const

export type BindingWithId = keyof typeof ids

/**
 * Replaces the line of the ID, or of the comment in its place; without one, adds a line.
 * @throws UserError when the environment has no such binding.
 */
export function setBindingId(toml: string, env: string, binding: BindingWithId, id: string): string {
  const { table, key } = ids[binding]
  const lines = toml.split('\n')
  const heads = lines.flatMap((line, index) => (/^\s*\[/.test(line) ? index : []))
  const sections = heads.map((start, index) => ({ start, end: heads[index + 1] ?? lines.length }))
  const section = sections.find(
    ({ start, end }) =>
      lines[start]?.trim() === `[[env.${env}.${table}]]` &&
      lines.slice(start, end).some((line) => new RegExp(`^\\s*binding\\s*=\\s*"${binding}"`).test(line)),
  )
  if (section === undefined) {
    const lacking = `[[env.${env}.${table}]] with binding = "${binding}"`
    throw new UserError(`wrangler.toml has no ${lacking}. Add it, as in the other environment.`)
  }
  const find = (pattern: RegExp) =>
    lines.findLastIndex((line, index) => index >= section.start && index < section.end && pattern.test(line))
  const place = find(new RegExp(`^\\s*(#\\s*)?${key}\\s*=`))
  if (place === -1) lines.splice(find(/^\s*[\w-]+\s*=/) + 1, 0, `${key} = "${id}"`)
  else lines[place] = `${key} = "${id}"`
  return lines.join('\n')
}
