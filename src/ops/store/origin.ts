// Where a deployed environment is served.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import type { Target } from '../shared/target.ts'
import { openAccount } from './cloudflare-api.ts'
import { refuse } from './failure.ts'

/**
 * Finds the custom domain in wrangler.toml, otherwise the Worker's address at workers.dev.
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
  const subdomain = readPath(await call('GET', '/workers/subdomain').catch(refuse), 'subdomain')
  // The smoke test sends a secret to this address, so it must be the account's own.
  if (typeof subdomain !== 'string') throw new UserError('Cloudflare names no workers.dev subdomain. Add --url.')
  return `https://${wrangler.name}.${subdomain}.workers.dev`
}
