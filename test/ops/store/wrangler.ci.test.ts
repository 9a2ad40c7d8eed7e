// wrangler.toml, as wrangler reads it.
import { expect, test } from 'vitest'
import { unstable_readConfig as readConfig } from 'wrangler'
import { readWranglerConfig } from '../../../src/ops/store/wrangler-toml.ts'

const environments = ['staging', 'production'] as const
const every = [undefined, ...environments]
const readSettings = (env: (typeof every)[number]) => readConfig({ env }, { hideWarnings: true })

test.each(every)('the command line reads the same settings as wrangler in environment %s', async (env) => {
  expect(readSettings(env)).toMatchObject(await readWranglerConfig(env))
})

test.each(environments)('%s has no previews, and once it has a route is not served at workers.dev', (env) => {
  const { routes, route, workers_dev: isWorkersDev, preview_urls: hasPreviews } = readSettings(env)
  const hasRoute = routes !== undefined || route !== undefined
  expect(hasPreviews).toBe(false)
  // Wrangler's default is on without a route, and off with one.
  expect(hasRoute && isWorkersDev === true).toBe(false)
})

/**
 * Each environment has its own database, cache and counters, and may have a domain and variables. IDs are absent until
 * the first deploy. The rest describes the file.
 */
const ownSettings = 'database_id preview_database_id id preview_id namespace_id routes route vars'.split(' ')
const ofTheFile = ['configPath', 'userConfigPath', 'topLevelName', 'targetEnvironment', 'definedEnvironments']

/** The settings of an environment that it must share with the others. */
function readComparable(env: (typeof every)[number]): unknown {
  const own = new Set([...ownSettings, ...ofTheFile])
  const config: object = readSettings(env)
  const text = JSON.stringify(config, (key, value: unknown) => (own.has(key) ? undefined : value))
  return JSON.parse(
    text
      .replaceAll(`partner-investment-plan-catalog-${env}"`, 'partner-investment-plan-catalog"')
      .replaceAll(`partner_investment_plan_catalog_${env}"`, 'partner_investment_plan_catalog"'),
  )
}

test('every environment has the settings of the top level', () => {
  const local = readComparable(undefined)
  for (const env of environments) expect(readComparable(env)).toEqual(local)
  expect(local).toMatchObject({
    triggers: { crons: ['* * * * *'] },
    limits: { cpu_ms: 8000 },
    d1_databases: [{ binding: 'DB' }],
    kv_namespaces: [{ binding: 'CATALOG_CACHE' }],
    version_metadata: { binding: 'VERSION' },
    analytics_engine_datasets: [{ binding: 'USAGE' }],
  })
})

test('no environment shares a database, a cache, a counter or a dataset with another', async () => {
  const configs: Record<string, Record<string, unknown>[]>[] = every.map((env) => ({ ...readSettings(env) }))
  const listValues = (list: string, field: string) =>
    configs.flatMap((config) => (config[list] ?? []).flatMap((entry) => entry[field] ?? []))
  for (const values of [
    configs.map(({ name }) => name),
    listValues('d1_databases', 'database_name'),
    listValues('d1_databases', 'database_id'),
    listValues('kv_namespaces', 'id'),
    listValues('ratelimits', 'namespace_id'),
    listValues('analytics_engine_datasets', 'dataset'),
  ]) {
    expect(values).toEqual([...new Set(values)])
  }
  expect(listValues('ratelimits', 'namespace_id')).toHaveLength(6)
})
