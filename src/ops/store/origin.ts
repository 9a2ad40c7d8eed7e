// Where a deployed environment is served.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import type { Target } from '../shared/target.ts'
import { openAccount } from './cloudflare-api.ts'
import { readConfiguredEnvironment } from './deployment.ts'
import { CloudflareError } from './failure.ts'

/**
 * Finds the custom domain in wrangler.toml, otherwise the Worker's address at workers.dev.
 * @throws UserError when neither is known.
 */
export async function findOrigin({ env = '' }: Target): Promise<string> {
  const { worker, domains, hasRoute } = await readConfiguredEnvironment(env)
  const [domain] = domains
  if (domain !== undefined) return `https://${domain}`
  if (hasRoute) throw new UserError(`The route of [env.${env}] in wrangler.toml names no host. Add --url.`)
  const { call } = await openAccount({ remote: true, env }, 'Workers Scripts Read')
  const answer = await call('GET', '/workers/subdomain').catch((error: unknown) => {
    throw error instanceof CloudflareError ? new UserError(`${error.message} Or name the service with --url.`) : error
  })
  const subdomain = readPath(answer, 'subdomain')
  // The smoke test sends a secret to this address, so it must be the account's own.
  if (typeof subdomain !== 'string') throw new UserError('Cloudflare names no workers.dev subdomain. Add --url.')
  return `https://${worker}.${subdomain}.workers.dev`
}
