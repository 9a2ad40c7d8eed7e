// Runs wrangler as a program.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

/** Switches off wrangler's telemetry, its update check and its banner. */
const quiet = { CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' }
/** Makes Node keep the compiled code of wrangler in this folder, so that the next start of wrangler is quicker. */
const compileCache = { NODE_COMPILE_CACHE: resolve(import.meta.dirname, '../../../node_modules/.cache/compiled') }

/** Makes a variable for wrangler: if the home folder can't be written, wrangler writes logs and preferences into the project. */
function makeConfigVariable(): { XDG_CONFIG_HOME?: string } {
  try {
    accessSync(homedir(), constants.W_OK)
    return {}
  } catch {
    return { XDG_CONFIG_HOME: resolve('.wrangler/config') }
  }
}

/** Starts wrangler with these arguments. @param variables environment variables for wrangler, which override the user's. */
export function startWrangler(args: readonly string[], stdio: StdioOptions, variables = {}): ChildProcess {
  const wrangler = fileURLToPath(import.meta.resolve('wrangler'))
  return spawn(process.execPath, ['--no-warnings', wrangler, ...args], {
    env: { ...quiet, ...compileCache, ...makeConfigVariable(), ...process.env, ...variables },
    stdio,
  })
}

/** Writes `input` to wrangler, and waits until wrangler ends. @returns its exit code, null if a signal ended it, and what it printed on stdout and stderr. */
export async function finishWrangler(child: ChildProcess, input: string) {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => (output += String(chunk)))
  }
  // Ignores the error when wrangler ends before it has read its input: wrangler's output says why it ended.
  child.stdin?.on('error', () => {}).end(input)
  await once(child, 'close')
  return { exitCode: child.exitCode, output: stripVTControlCharacters(output).trim() }
}

/** @returns the names of the migrations of this checkout, in the order in which they are applied. */
export async function listMigrationFiles(): Promise<string[]> {
  return (await readdir('migrations')).filter((name) => name.endsWith('.sql')).toSorted()
}
