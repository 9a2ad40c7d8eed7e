// What a deploy needs: the address of the service, the version that is live, the checks of the project, and wrangler's deploy.
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

/**
 * Finds the address of the service: its custom domain in wrangler.toml, or else its address at workers.dev.
 * @throws UserError when neither is known.
 */
export async function findOrigin(target: Target): Promise<string> {
  const { wrangler, call } = await openAccount(target)
  const routes = [...(wrangler.routes ?? []), ...(wrangler.route ? [wrangler.route] : [])]
  const domain = routes.find((route) => readPath(route, 'custom_domain') === true)
  if (domain !== undefined) return `https://${String(readPath(domain, 'pattern'))}`
  if (routes.length > 0) {
    throw new UserError(`The route of [env.${target.env}] in wrangler.toml names no host. Add --url.`)
  }
  const subdomain = readPath(await call('GET', '/workers/subdomain').catch(throwAsUserError), 'subdomain')
  // The smoke test sends a secret to this address, so it must be the account's own.
  if (typeof subdomain !== 'string') throw new UserError('Cloudflare names no workers.dev subdomain. Add --url.')
  return `https://${wrangler.name}.${subdomain}.workers.dev`
}

/**
 * @returns the ID of the version that answers requests; undefined before the first deploy. `keys rotate` before the first deploy makes a
 * version without code, which does not count: it has no binding DB.
 */
export async function findLiveVersion(target: Target): Promise<string | undefined> {
  const { wrangler, call } = await openAccount(target)
  const live = await listLiveVersions(call, wrangler.name).catch(throwAsUserError)
  return live.find(({ bindings }) => bindings.some(({ name }) => name === 'DB'))?.versionId
}

/** Runs `npm run check`, without credentials in its environment. @returns true when all checks passed. */
export async function runProjectCheck(): Promise<boolean> {
  const without = { CLOUDFLARE_API_TOKEN: undefined, CLIENT_SECRET: undefined }
  const check = spawn('npm', ['run', 'check'], { stdio: 'inherit', env: { ...process.env, ...without } })
  await once(check, 'exit')
  return check.exitCode === 0
}

/**
 * Runs `wrangler deploy`, which prints to the user's terminal and asks its questions there. In CI, wrangler asks nothing and answers yes.
 * Wrangler mistakes variables such as BUILD_ID for a sign of CI; CI=false prevents the mistake.
 * @param origin the origin of the service, for the build of the site.
 * @returns the ID of the version; undefined when wrangler failed.
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
    const deployed = lines
      .map((line): unknown => JSON.parse(line))
      .find((entry) => readPath(entry, 'type') === 'deploy')
    if (deployed === undefined) throw new Error('wrangler wrote no line of type deploy')
    return String(readPath(deployed, 'version_id'))
  } finally {
    await rm(folder, { recursive: true })
  }
}
