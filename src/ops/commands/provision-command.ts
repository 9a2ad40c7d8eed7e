// The code of npm run provision.
import { rotateKeys } from '../core/key-ring.ts'
import { provision } from '../core/provisioning.ts'
import { CloudflareError } from '../store/failure.ts'
import { openResources } from '../store/environment-resources.ts'
import { openWorkerSecrets } from '../store/worker-secrets.ts'
import { UserError } from '../shared/user-error.ts'
import { readAttribution } from './command-context.ts'
import type { Handler } from './declaration.ts'
import type { provisionDeclaration } from './programs.ts'

export const provisionCommand: Handler<typeof provisionDeclaration> = async (
  { env, location, jurisdiction, as },
  { report, openKeyRing, withStore, ...context },
) => {
  const target = { remote: true, env }
  const attribution = await readAttribution(context, { ...target, ...(as !== undefined && { as }) })
  const keys = await openKeyRing(target)
  // There is no earlier key to wait for.
  const rotation = {
    waitSeconds: 0,
    onWait: () => {},
    confirmReplacement: () => Promise.reject(new UserError('Somebody set JWT_KEYS meanwhile. Run it again.')),
  }
  const resources = {
    ...(await openResources(env)),
    findSigningKey: async () => {
      const secrets = await openWorkerSecrets(target).list()
      if (!secrets.some((secret) => secret.name === 'JWT_KEYS' && secret.isKept)) return 'none' as const
      return (await keys.list()).some(({ use }) => use === 'signs') ? ('rotated' as const) : ('foreign' as const)
    },
    createSigningKey: () => withStore(target, (store) => rotateKeys(keys, store, attribution, rotation)),
  }
  try {
    const hasNewIds = await provision(resources, { location, jurisdiction }, report)
    if (hasNewIds) report('Commit wrangler.toml: the IDs are not secret, and deploy needs them.')
  } catch (error) {
    if (!(error instanceof CloudflareError)) throw error
    throw new UserError(`${error.message} Then run it again: it continues where it stopped.`)
  }
}
