// A deploy of the Worker: what the account and the checkout look like before it, wrangler's deploy, and the smoke test.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseVariables } from '../../api/config.ts'
import { isJsonObject, readPath } from '../../json.ts'
import { openAccount, type Call } from './cloudflare-api.ts'
import { refuse } from './failure.ts'
import { listPendingMigrations } from './migrations.ts'
import { openWorkerSecrets } from './worker-secrets.ts'
import { listLiveVersions, type LiveVersion } from './worker-versions.ts'
import { findBindings, readWranglerConfig } from './wrangler-toml.ts'
import { startWrangler } from './wrangler.ts'

/** The environment as wrangler.toml has it. */
export interface ConfiguredEnvironment {
  env: string
  /** The name of the Worker. */
  worker: string
  databaseId: string | undefined
  namespaceId: string | undefined
  hasRoute: boolean
  /** Its custom domains. */
  domains: readonly string[]
  isWorkersDevOn: boolean
  /** Whether the Worker can say in `X-Worker-Version` which version answers. */
  hasVersionBinding: boolean
}

/** What the account and the checkout look like. */
export interface DeployState {
  pendingMigrations: readonly string[]
  missingSecrets: readonly string[]
  /** Custom domains that are not the Worker's yet. */
  newDomains: readonly string[]
  /** Files that differ from the last commit; `any` when they may. */
  changedFiles: readonly string[] | 'no checkout' | 'any'
}

/** @throws UserError when wrangler.toml has no such environment, and ConfigError when one of its variables is wrong. */
export async function readConfiguredEnvironment(env: string): Promise<ConfiguredEnvironment> {
  const wrangler = await readWranglerConfig(env)
  parseVariables(wrangler.vars)
  const { databaseId, namespaceId } = findBindings(wrangler)
  // Wrangler takes either. An empty one is none.
  const routes = [...(wrangler.routes ?? []), ...(wrangler.route ? [wrangler.route] : [])]
  return {
    env,
    worker: wrangler.name,
    databaseId,
    namespaceId,
    hasRoute: routes.length > 0,
    domains: routes
      .filter((route) => readPath(route, 'custom_domain') === true)
      .map((route) => String(readPath(route, 'pattern'))),
    isWorkersDevOn: wrangler.workers_dev === true,
    hasVersionBinding: wrangler.version_metadata?.binding === 'VERSION',
  }
}

/** @throws UserError when the account can't be read. */
export async function readDeployState(
  environment: ConfiguredEnvironment,
  { allowDirty }: { allowDirty: boolean },
): Promise<DeployState> {
  const target = { remote: true, env: environment.env }
  const { wrangler, call } = await openAccount(target)
  const [pendingMigrations, secrets, newDomains, changedFiles] = await Promise.all([
    listPendingMigrations(target),
    openWorkerSecrets(target).list(),
    listNewDomains(environment, call),
    allowDirty ? ('any' as const) : listChangedFiles(),
  ])
  const required: string[] = wrangler.secrets?.required ?? []
  // A deploy keeps the secrets of the latest version, which may not be live.
  const missingSecrets = required.filter((name) => !secrets.some((secret) => secret.name === name && secret.isKept))
  return { pendingMigrations, missingSecrets, newDomains, changedFiles }
}

async function listChangedFiles(): Promise<readonly string[] | 'no checkout'> {
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

/** Runs all checks of the project. They need no credentials, and get none; their site is the one of the example origin. */
export async function runProjectCheck(): Promise<boolean> {
  const without = { CLOUDFLARE_API_TOKEN: undefined, CLIENT_SECRET: undefined, SITE_ORIGIN: undefined }
  return (await runProgram('npm', ['run', 'check'], { ...process.env, ...without })) === 0
}

export interface Deployed {
  versionId: string
  targets: readonly string[]
}

export interface FailedDeploy {
  /** Cloudflare's own error code, when it refused a call. */
  failureCode: number | undefined
}

/**
 * Runs `wrangler deploy`, which shows its own output, and asks its questions when there is a terminal, and CI is not set.
 * Otherwise it answers yes by itself. It would do so for BUILD_ID and many other variables, too, if CI were not "false".
 * @param flags more flags of wrangler.
 */
export async function deployWithWrangler(env: string, flags: readonly string[] = []): Promise<Deployed | FailedDeploy> {
  const folder = await mkdtemp(join(tmpdir(), 'deploy-'))
  const file = join(folder, 'output.ndjson')
  try {
    const variables = { WRANGLER_OUTPUT_FILE_PATH: file, CI: process.env['CI'] || 'false' }
    const wrangler = startWrangler(['deploy', '--env', env, ...flags], 'inherit', variables)
    const [exitCode]: (number | null)[] = await once(wrangler, 'exit')
    const entries = await readFile(file, 'utf8').catch(() => '')
    return exitCode === 0 ? readDeployed(entries) : { failureCode: readFailureCode(entries) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function readDeployed(ndjson: string): Deployed {
  const entry = findEntry(ndjson, 'deploy')
  if (entry === undefined) throw new Error('wrangler wrote no line of type deploy')
  const targets: unknown[] = Array.isArray(entry['targets']) ? entry['targets'] : []
  return { versionId: String(entry['version_id']), targets: targets.map(String) }
}

function readFailureCode(ndjson: string): number | undefined {
  const code = findEntry(ndjson, 'command-failed')?.['code']
  return typeof code === 'number' ? code : undefined
}

/** Finds a line of wrangler's machine-readable output. */
function findEntry(ndjson: string, type: string): Record<string, unknown> | undefined {
  const entries = ndjson.split('\n').map((line): unknown => (line === '' ? undefined : JSON.parse(line)))
  return entries.filter((entry) => isJsonObject(entry)).find((entry) => entry['type'] === type)
}

/** @returns whether the name of a host is not known yet, or the host refuses a connection for lack of a certificate. */
export async function lacksNameOrCertificate(url: string): Promise<boolean> {
  const error: unknown = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(5000) }).then(
    (response) => response.body?.cancel(),
    (reason: unknown) => reason,
  )
  return /^(ENOTFOUND|ERR_SSL_|ERR_TLS_|EPROTO)/.test(String(readPath(error, 'cause', 'code')))
}

async function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number | null> {
  const child = spawn(program, args, { stdio: 'inherit', env })
  const [exitCode]: (number | null)[] = await once(child, 'exit')
  return exitCode ?? null
}
