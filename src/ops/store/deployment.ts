// A deploy of the Worker: what the account and the checkout look like before it, wrangler's deploy, and the smoke test.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isJsonObject, readPath } from '../../json.ts'
import { openAccount, type Call } from './cloudflare-api.ts'
import { CloudflareError, refuse } from './failure.ts'
import { listPendingMigrations } from './remote-migrations.ts'
import { openWorkerSecrets } from './worker-secrets.ts'
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
  isWorkersDevOn: boolean
}

/** What the account and the checkout look like. */
export interface DeployState {
  pendingMigrations: readonly string[]
  missingSecrets: readonly string[]
  /** Files that differ from the last commit; `any` when they may. */
  changedFiles: readonly string[] | 'no checkout' | 'any'
}

/** A version that gets a share of the requests. */
export interface LiveVersion {
  versionId: string
  percentage: number
}

/** @throws UserError when wrangler.toml has no such environment. */
export async function readConfiguredEnvironment(env: string): Promise<ConfiguredEnvironment> {
  const wrangler = await readWranglerConfig(env)
  const { databaseId, namespaceId } = findBindings(wrangler)
  return {
    env,
    worker: wrangler.name ?? '',
    databaseId,
    namespaceId,
    hasRoute: (wrangler.routes ?? []).length > 0 || wrangler.route !== undefined,
    isWorkersDevOn: wrangler.workers_dev === true,
  }
}

/** @throws UserError when the account can't be read. */
export async function readDeployState(
  { env }: ConfiguredEnvironment,
  { allowDirty }: { allowDirty: boolean },
): Promise<DeployState> {
  const target = { remote: true, env }
  const { wrangler } = await openAccount(target)
  const [pendingMigrations, secretNames, changedFiles] = await Promise.all([
    listPendingMigrations(target),
    openWorkerSecrets(target).listNames(),
    allowDirty ? ('any' as const) : listChangedFiles(),
  ])
  const required: string[] = wrangler.secrets?.required ?? []
  const missingSecrets = required.filter((name) => !secretNames.includes(name))
  return { pendingMigrations, missingSecrets, changedFiles }
}

async function listChangedFiles(): Promise<readonly string[] | 'no checkout'> {
  try {
    const { stdout } = await promisify(execFile)('git', ['status', '--porcelain'])
    return stdout.split('\n').flatMap((line) => line.slice(3) || [])
  } catch {
    return 'no checkout'
  }
}

/** @returns the versions that answer requests; none before the first deploy. */
export async function listLiveVersions(env: string): Promise<LiveVersion[]> {
  const { wrangler, call } = await openAccount({ remote: true, env })
  const script = `/workers/scripts/${wrangler.name}`
  try {
    const result = await call('GET', `${script}/deployments`)
    const found = readPath(result, 'deployments', 0, 'versions')
    const versions: unknown[] = Array.isArray(found) ? found : []
    const live = versions.map((version) => ({
      versionId: String(readPath(version, 'version_id')),
      percentage: Number(readPath(version, 'percentage')),
    }))
    const isService = await Promise.all(
      live.map(({ versionId }) => hasDatabase(call, `${script}/versions/${versionId}`)),
    )
    return live.filter((_, index) => isService[index])
  } catch (error) {
    if (error instanceof CloudflareError && error.isMissing) return []
    return refuse(error)
  }
}

/** The first secret of a Worker makes an empty version, which nobody wants to go back to. */
async function hasDatabase(call: Call, path: string): Promise<boolean> {
  const bindings = readPath(await call('GET', path), 'resources', 'bindings')
  return !Array.isArray(bindings) || bindings.some((binding) => readPath(binding, 'name') === 'DB')
}

/** Runs all checks of the project. They need no credentials, and get none; their site is the one of the example origin. */
export async function runProjectCheck(): Promise<boolean> {
  const without = { CLOUDFLARE_API_TOKEN: undefined, CLIENT_SECRET: undefined, SITE_ORIGIN: undefined }
  return (await runProgram('npm', ['run', 'check'], { ...process.env, ...without })) === 0
}

export interface Deployed {
  versionId: string
  targets: string[]
}

/**
 * Runs `wrangler deploy`, which shows its own output.
 * @returns undefined when wrangler failed.
 */
export async function deployWithWrangler(env: string): Promise<Deployed | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'deploy-'))
  const file = join(folder, 'output.ndjson')
  try {
    const wrangler = startWrangler(['deploy', '--env', env], 'inherit', { WRANGLER_OUTPUT_FILE_PATH: file })
    const [exitCode]: (number | null)[] = await once(wrangler, 'exit')
    return exitCode === 0 ? readDeployed(await readFile(file, 'utf8')) : undefined
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Finds the line of the deploy in wrangler's machine-readable output. */
export function readDeployed(ndjson: string): Deployed {
  for (const line of ndjson.split('\n').filter(Boolean)) {
    const entry: unknown = JSON.parse(line)
    if (!isJsonObject(entry) || entry['type'] !== 'deploy') continue
    const targets: unknown[] = Array.isArray(entry['targets']) ? entry['targets'] : []
    return { versionId: String(entry['version_id']), targets: targets.map(String) }
  }
  throw new Error('wrangler wrote no line of type deploy')
}

export type SmokeOutcome = 'passed' | 'failed' | 'unreachable'

/** Runs the smoke test, which shows its own output, and waits until the version has spread. */
export async function runSmokeTest(url: string, worker: string, versionId: string): Promise<SmokeOutcome> {
  const program = resolve(import.meta.dirname, '../smoke.ts')
  const exitCode = await runProgram(process.execPath, [program, '--url', url, '--version', `${worker}=${versionId}`])
  return exitCode === 0 ? 'passed' : exitCode === 3 ? 'unreachable' : 'failed'
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
