// A deploy of the Worker: what the account and the checkout look like before it, wrangler's deploy, and the smoke test.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseVariables } from '../../api/config.ts'
import { readPath } from '../../json.ts'
import { openAccount, type Call } from './cloudflare-api.ts'
import { refuse } from './failure.ts'
import { listLiveVersions, type LiveVersion } from './worker-versions.ts'
import { findBindings, readWranglerConfig } from './wrangler-toml.ts'
import { startWrangler } from './wrangler.ts'

/** The environment as wrangler.toml has it. */
export type ConfiguredEnvironment = Awaited<ReturnType<typeof readConfiguredEnvironment>>

/** @throws UserError when wrangler.toml has no such environment, and ConfigError when one of its variables is wrong. */
export async function readConfiguredEnvironment(env: string) {
  const wrangler = await readWranglerConfig(env)
  parseVariables(wrangler.vars)
  const { databaseId, namespaceId } = findBindings(wrangler)
  // Wrangler takes either. An empty one is none.
  const routes = [...(wrangler.routes ?? []), ...(wrangler.route ? [wrangler.route] : [])]
  return {
    env,
    /** The name of the Worker. */
    worker: wrangler.name,
    databaseId,
    namespaceId,
    hasRoute: routes.length > 0,
    /** Its custom domains. */
    domains: routes
      .filter((route) => readPath(route, 'custom_domain') === true)
      .map((route) => String(readPath(route, 'pattern'))),
    isWorkersDevOn: wrangler.workers_dev === true,
  }
}

/** What the account and the checkout look like. */
export type DeployState = Awaited<ReturnType<typeof readDeployState>>

/** @throws UserError when the account can't be read. */
export async function readDeployState(environment: ConfiguredEnvironment, allowDirty: boolean) {
  const { call } = await openAccount({ remote: true, env: environment.env })
  const [newDomains, changedFiles] = await Promise.all([
    listNewDomains(environment, call),
    allowDirty ? [] : listChangedFiles(),
  ])
  return {
    /** Custom domains that are not the Worker's yet. */
    newDomains,
    /** Files that differ from the last commit, unless they may. */
    changedFiles,
  }
}

async function listChangedFiles(): Promise<string[] | 'no checkout'> {
  try {
    const { stdout } = await promisify(execFile)('git', ['status', '--porcelain'])
    return stdout.split('\n').flatMap((line) => line.slice(3) || [])
  } catch {
    return 'no checkout'
  }
}

/**
 * @returns the versions that answer requests; none before the first deploy. The first secret of a Worker makes an empty
 * version, which nobody wants to go back to: it is not listed.
 */
export async function listServiceVersions(env: string): Promise<LiveVersion[]> {
  const { wrangler, call } = await openAccount({ remote: true, env })
  const live = await listLiveVersions(call, wrangler.name).catch(refuse)
  return live.filter(({ bindings }) => bindings.some(({ name }) => name === 'DB'))
}

/** @returns the domains that wrangler.toml has for the Worker, and that are not its domains yet. */
async function listNewDomains({ worker, domains }: ConfiguredEnvironment, call: Call): Promise<string[]> {
  const isOwn = await Promise.all(
    domains.map(async (domain) => {
      const found = await call('GET', `/workers/domains?hostname=${domain}`).catch(refuse)
      return Array.isArray(found) && found.some((one: unknown) => readPath(one, 'service') === worker)
    }),
  )
  return domains.filter((_, index) => !isOwn[index])
}

/** Runs all checks of the project. They need no credentials, and get none. */
export async function runProjectCheck(): Promise<boolean> {
  const without = { CLOUDFLARE_API_TOKEN: undefined, CLIENT_SECRET: undefined }
  const check = spawn('npm', ['run', 'check'], { stdio: 'inherit', env: { ...process.env, ...without } })
  const [exitCode]: (number | null)[] = await once(check, 'exit')
  return exitCode === 0
}

/**
 * Runs `wrangler deploy`, which shows its own output, and asks its questions when there is a terminal, and CI is not set.
 * Otherwise it answers yes by itself. It would do so for BUILD_ID and many other variables, too, if CI were not "false".
 * @param origin of the service, for the build of the site.
 * @returns the ID of the version; undefined when wrangler failed.
 */
export async function deployWithWrangler(env: string, origin: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'deploy-'))
  const file = join(folder, 'output.ndjson')
  try {
    const variables = { SITE_ORIGIN: origin, WRANGLER_OUTPUT_FILE_PATH: file, CI: process.env['CI'] || 'false' }
    const wrangler = startWrangler(['deploy', '--env', env], 'inherit', variables)
    const [exitCode]: (number | null)[] = await once(wrangler, 'exit')
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)
    const entries = lines.map((line): unknown => JSON.parse(line))
    if (exitCode !== 0) return undefined
    const deployed = entries.find((entry) => readPath(entry, 'type') === 'deploy')
    if (deployed === undefined) throw new Error('wrangler wrote no line of type deploy')
    return String(readPath(deployed, 'version_id'))
  } finally {
    await rm(folder, { recursive: true })
  }
}
