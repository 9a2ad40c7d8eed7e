// Wrangler: as a library, which reads its configuration, and as a program.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { abbreviate } from '../../catalog/plan-schema.ts'
import { UserError } from '../shared/user-error.ts'

/** Switches off wrangler's telemetry, its update check and its banner. */
const quiet = { CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' }

/** Prepares this process for wrangler as a library. */
export function quietenWrangler(): void {
  const variables = { ...quiet, ...findConfigHome(), WRANGLER_LOG: 'error' }
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value
}

/** Wrangler writes logs and preferences to the home folder. If that is not writable, it uses a folder of the project. */
function findConfigHome(): { XDG_CONFIG_HOME?: string } {
  try {
    accessSync(homedir(), constants.W_OK)
    return {}
  } catch {
    return { XDG_CONFIG_HOME: resolve('.wrangler/config') }
  }
}

/**
 * Reads the configuration of an environment, or of the top level.
 * @throws UserError when there is no such environment: wrangler itself would use the top level.
 */
export async function readWranglerConfig(env: string | undefined) {
  quietenWrangler()
  const { experimental_readRawConfig: readRawConfig, unstable_readConfig: readConfig } = await import('wrangler')
  const names = Object.keys(readRawConfig({}).rawConfig.env ?? {})
  if (env !== undefined && !names.includes(env)) {
    throw new UserError(`wrangler.toml has no environment ${abbreviate(env)}. It has: ${names.join(', ')}.`)
  }
  return readConfig({ env }, { hideWarnings: true })
}

/** What wrangler.toml says about the database and the cache of an environment. */
export function findBindings(wrangler: Awaited<ReturnType<typeof readWranglerConfig>>) {
  const databases: { binding: string; database_id?: string; database_name?: string }[] = wrangler.d1_databases
  const namespaces: { binding: string; id?: string }[] = wrangler.kv_namespaces
  const database = databases.find(({ binding }) => binding === 'DB')
  return {
    // An empty ID is none.
    databaseId: database?.database_id || undefined,
    databaseName: database?.database_name,
    namespaceId: namespaces.find(({ binding }) => binding === 'CATALOG_CACHE')?.id || undefined,
  }
}

/** The user's own log level for wrangler as a program, read before `quietenWrangler` sets one. */
const { WRANGLER_LOG } = process.env

/** @param variables more variables of its environment. */
export function startWrangler(args: readonly string[], stdio: StdioOptions, variables = {}): ChildProcess {
  const wrangler = fileURLToPath(import.meta.resolve('wrangler'))
  return spawn(process.execPath, ['--no-warnings', wrangler, ...args], {
    env: { ...quiet, ...findConfigHome(), ...process.env, WRANGLER_LOG, ...variables },
    stdio,
  })
}

/**
 * Waits until wrangler ends.
 * @returns in `output` stdout and stderr together.
 */
export async function finishWrangler(child: ChildProcess, input = '') {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => (output += String(chunk)))
  }
  // When wrangler ends before it has read its input, its output says why.
  child.stdin?.on('error', () => {}).end(input)
  const [exitCode]: (number | null)[] = await once(child, 'close')
  return { exitCode, output: stripVTControlCharacters(output).trim() }
}
