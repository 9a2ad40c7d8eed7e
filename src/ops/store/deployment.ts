// The parts of a deploy: finds the address and the live version of the service, checks the project, and runs `wrangler deploy`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPath } from '../../json.ts'
import type { Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount } from './cloudflare-api.ts'
import { throwAsUserError } from './failure.ts'
import { listLiveVersions } from './worker-versions.ts'
import { startWrangler } from './wrangler.ts'

/** Finds the custom domain in wrangler.toml, or without routes the address at workers.dev. @throws UserError when no address is found, or Cloudflare can't be asked. */
export async function requireOrigin(target: Target): Promise<string> {
  const { wrangler, call } = await openAccount(target)
  const routes = [...(wrangler.routes ?? []), ...(wrangler.route ? [wrangler.route] : [])]
  const domain = routes.find((route) => readPath(route, 'custom_domain') === true)
  if (domain !== undefined) return `https://${String(readPath(domain, 'pattern'))}`
  if (routes.length > 0) {
    throw new UserError(`No route of [env.${target.env}] in wrangler.toml is a custom domain. Add --url.`)
  }
  const subdomain = readPath(await call('GET', '/workers/subdomain').catch(throwAsUserError), 'subdomain')
  // No guess: the smoke test sends a client secret to the address.
  if (typeof subdomain !== 'string') throw new UserError('Cloudflare returned no workers.dev subdomain. Add --url.')
  return `https://${wrangler.name}.${subdomain}.workers.dev`
}

/** @returns the ID of a live version; undefined when none has the binding DB: before the first deploy, `keys rotate` makes a version without code. @throws UserError when Cloudflare can't be asked. */
export async function findLiveVersionId(target: Target): Promise<string | undefined> {
  const { wrangler, call } = await openAccount(target)
  const liveVersions = await listLiveVersions(call, wrangler.name).catch(throwAsUserError)
  return liveVersions.find(({ bindings }) => bindings.some(({ name }) => name === 'DB'))?.versionId
}

/** Runs `npm run check`, without credentials in its environment variables. @returns true when it succeeds. */
export async function runProjectCheck(): Promise<boolean> {
  const noCredentials = { CLOUDFLARE_API_TOKEN: undefined, CLIENT_SECRET: undefined }
  const check = spawn('npm', ['run', 'check'], { stdio: 'inherit', env: { ...process.env, ...noCredentials } })
  await once(check, 'exit')
  return check.exitCode === 0
}

/**
 * Runs `wrangler deploy`, which prints to the user's terminal and asks its questions there. In CI, wrangler asks nothing and answers yes.
 * Wrangler mistakes variables such as BUILD_ID for a sign of CI; CI=false prevents the mistake.
 * @param origin the address of the service, which the build of the site writes into its pages.
 * @returns the ID of the new version; undefined when wrangler failed. @throws Error when wrangler can't be started, or succeeds without naming the version.
 */
export async function deployWithWrangler(env: string, origin: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'deploy-'))
  const file = join(folder, 'output.ndjson')
  try {
    const variables = { SITE_ORIGIN: origin, WRANGLER_OUTPUT_FILE_PATH: file, CI: process.env['CI'] || 'false' }
    const wrangler = startWrangler(['deploy', '--env', env], 'inherit', variables)
    await once(wrangler, 'exit')
    if (wrangler.exitCode !== 0) return undefined
    const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
    const events = lines.map((line): unknown => JSON.parse(line))
    const deployEvent = events.find((event) => readPath(event, 'type') === 'deploy')
    if (deployEvent === undefined) throw new Error('wrangler wrote no line of type deploy')
    return String(readPath(deployEvent, 'version_id'))
  } finally {
    await rm(folder, { recursive: true })
  }
}
