import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { deployWithWrangler, readConfiguredEnvironment, readDeployState } from '../../../src/ops/store/deployment.ts'
import { findOrigin } from '../../../src/ops/store/origin.ts'
import { inspectEnvironment } from '../../../src/ops/store/environment.ts'

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
  // Wrangler’s rule, from ci-info.
  const source = await readFile(join(project, 'node_modules/wrangler/wrangler-dist/cli.js'), 'utf8')
  expect(source).toMatch(/isCI = !!\(env\d*\.CI !== "false" &&/)
})

/** Works in a folder whose wrangler.toml has these settings in [env.staging]. */
async function inFolder<T>(settings: string, work: () => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  await writeFile(join(folder, 'wrangler.toml'), `name = "w"\ncompatibility_date = "2026-10-23"\n${settings}\n`)
  process.chdir(folder)
  try {
    return await work()
  } finally {
    process.chdir(project)
    await rm(folder, { recursive: true })
  }
}
const readStaging = (settings: string) =>
  inFolder(`[env.staging]\n${settings}`, () => readConfiguredEnvironment('staging'))

test.each([
  ['routes = [{ pattern = "a.example", custom_domain = true }, "b.example/*"]', ['a.example']],
  ['route = { pattern = "a.example", custom_domain = true }', ['a.example']],
  ['route = "a.example/*"', []],
])('the domains of %s are %j', async (settings, domains) => {
  expect(await readStaging(settings)).toMatchObject({ hasRoute: true, domains })
})

test('the origin of a service is its custom domain; a route that is none has to be named', async () => {
  const find = (routes: string) => inFolder(`[env.staging]\n${routes}`, () => findOrigin({ env: 'staging' }))
  expect(await find('routes = [{ pattern = "a.example", custom_domain = true }, "b.example/*"]')).toBe(
    'https://a.example',
  )
  await expect(find('route = "a.example/*"')).rejects.toThrow('names no host. Add --url.')
})

test('a custom domain that is not the Worker’s yet is noticed', async () => {
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a'.repeat(32))
  vi.stubEnv('CLOUDFLARE_API_TOKEN', 'token')
  const services: Record<string, object[]> = {
    'a.example': [{ service: 'w-staging' }],
    'b.example': [{ service: 'x' }],
  }
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
    const hostname = typeof url === 'string' ? new URL(url).searchParams.get('hostname') : null
    return Response.json({ success: true, result: services[hostname ?? ''] ?? [] })
  })
  const routes = ['a', 'b', 'c'].map((name) => `{ pattern = "${name}.example", custom_domain = true }`)
  const { newDomains } = await inFolder(`[env.staging]\nroutes = [${routes.join(', ')}]`, async () =>
    readDeployState(await readConfiguredEnvironment('staging'), true),
  )
  expect(newDomains).toEqual(['b.example', 'c.example'])
})

test('an environment without the binding of the version is noticed', async () => {
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a'.repeat(32))
  vi.stubEnv('CLOUDFLARE_API_TOKEN', 'token')
  const settings = '[version_metadata]\nbinding = "VERSION"\n[env.staging]'
  const { deployment } = await inFolder(settings, async () => {
    await mkdir('migrations')
    return inspectEnvironment({ remote: true, env: 'staging' })
  })
  expect(deployment?.missingBindings).toEqual(['VERSION'])
})
