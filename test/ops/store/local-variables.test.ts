// The variables of a local session, compared with what wrangler reads.
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unstable_getVarsForDev as readWithWrangler } from 'wrangler'
import { readLocalVariables } from '../../../src/ops/store/dev-vars.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { getStoreIds, readWranglerConfig } from '../../../src/ops/store/wrangler-toml.ts'

const project = process.cwd()
beforeEach(async () => {
  process.chdir(await createFolder())
})
afterEach(() => process.chdir(project))

const toml = `name = "app"
compatibility_date = "2026-10-23"
[vars]
TOKEN_LIFETIME_SECONDS = 60
CATALOG_APPROVAL = "off"
`

test.each<[string, Record<string, string>]>([
  ['wrangler.toml alone', {}],
  ['.dev.vars', { '.dev.vars': `JWT_KEY_1='x'\nCATALOG_APPROVAL=required\nOTHER=x\n`, '.env': 'JWT_KEY_1=y' }],
  ['an empty .dev.vars', { '.dev.vars': '', '.env': 'JWT_KEY_1=y' }],
])('are those of %s, as wrangler reads them', async (_, files) => {
  // Not those of the environment.
  vi.stubEnv('CATALOG_APPROVAL', 'z')
  await writeFile('wrangler.toml', toml)
  for (const [name, text] of Object.entries(files)) await writeFile(name, text)
  const config = await readWranglerConfig(undefined)
  const { vars } = config
  const bindings = readWithWrangler('wrangler.toml', undefined, vars, undefined, true)
  const expected = Object.entries(bindings).map(([name, binding]) => [
    name,
    'value' in binding ? binding.value : binding,
  ])
  expect(await readLocalVariables(config)).toEqual(Object.fromEntries(expected))
})

test.each([
  ['name = [', /^wrangler\.toml can't be used: /],
  ['name = "app"', /^wrangler\.toml can't be used: .*compatibility_date/s],
  [`${toml}[[kv_namespaces]]\nid = "x"`, /^wrangler\.toml can't be used: .*kv_namespaces\[0\]\.binding/s],
])('a file that can’t be used is refused: %j', async (text, problem) => {
  await writeFile('wrangler.toml', text)
  await expect(readWranglerConfig(undefined)).rejects.toThrow(problem)
})

test('an empty ID is missing', async () => {
  await writeFile('wrangler.toml', `${toml}[[d1_databases]]\nbinding = "DB"\ndatabase_id = ""`)
  expect(getStoreIds(await readWranglerConfig(undefined)).databaseId).toBeUndefined()
})
