import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { deployWithWrangler, requireOrigin } from '../../../src/ops/store/deployment.ts'
import { createFolder } from '../../support/temporary-folder.ts'

/** Wrangler’s own program is not started: it says which variables it got. */
vi.mock('../../../src/ops/store/wrangler.ts', async () => {
  const { spawn } = await import('node:child_process')
  const program = `
    const entry = { type: 'deploy', version_id: process.env.CI + ' ' + process.env.SITE_ORIGIN }
    require('node:fs').writeFileSync(process.env.WRANGLER_OUTPUT_FILE_PATH, JSON.stringify(entry))`
  return {
    startWrangler: (_: unknown, stdio: 'inherit', variables: object) =>
      spawn(process.execPath, ['-e', program], { stdio, env: { ...process.env, ...variables } }),
  }
})
const project = process.cwd()
const domain = 'https://catalog.example.com'
afterEach(() => {
  process.chdir(project)
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test.each([
  ['BUILD_ID', undefined, 'false'],
  ['BUILD_ID', '', 'false'],
  ['BUILD_ID', '1', '1'],
])('with %s and CI=%s, wrangler gets CI=%s: only then it asks in the same terminals', async (name, CI, expected) => {
  vi.stubEnv(name, '7')
  vi.stubEnv('CI', CI)
  expect(await deployWithWrangler('staging', domain)).toBe(`${expected} ${domain}`)
})

test('wrangler asks when CI is false: the rule of ci-info', async () => {
  const source = await readFile(join(project, 'node_modules/wrangler/wrangler-dist/cli.js'), 'utf8')
  expect(source).toMatch(/isCI = !!\(env\d*\.CI !== "false" &&/)
})

test.each([
  ['routes = [{ pattern = "a.example", custom_domain = true }, "b.example/*"]', 'https://a.example'],
  ['route = { pattern = "a.example", custom_domain = true }', 'https://a.example'],
  ['route = "a.example/*"', 'is a custom domain. Add --url.'],
])(
  'the origin of a service is its custom domain, and any other route has to be named: %s',
  async (routes, expected) => {
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a'.repeat(32))
    vi.stubEnv('CLOUDFLARE_API_TOKEN', 'token')
    const folder = await createFolder()
    const settings = `name = "w"\ncompatibility_date = "2026-10-23"\n[env.staging]\n${routes}\n`
    await writeFile(join(folder, 'wrangler.toml'), settings)
    process.chdir(folder)
    const found = await requireOrigin({ env: 'staging' }).catch((error: unknown) => String(error))
    expect(found).toContain(expected)
  },
)
