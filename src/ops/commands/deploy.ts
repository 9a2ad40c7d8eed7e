// npm run deploy
import { parseVariables } from '../../api/config.ts'
import { findDeployObstacles } from '../core/doctor.ts'
import { deployGuarded } from '../core/guarded-deploy.ts'
import { systemClock } from '../core/clock.ts'
import { findIncompleteCredentials, runSmokeTest } from '../core/smoke-test.ts'
import { isCleanCheckout } from '../store/checkout.ts'
import { deployWithWrangler, findLiveVersion, runProjectCheck } from '../store/deployment.ts'
import { findOrigin } from '../store/origin.ts'
import { readWranglerConfig } from '../store/wrangler-toml.ts'
import { UserError } from '../shared/user-error.ts'
import { parseOrigin } from './shared-flags.ts'
import { verb } from './verb.ts'

export const deploy = verb({
  help: `Deploy the Worker and its site to an environment of wrangler.toml, then run the smoke test.

It refuses with IDs, migrations or secrets missing, with files that are not committed, and when
npm run check fails.`,
  example: 'deploy --env staging',
  flags: {
    env: {
      value: '<name>',
      help: 'the environment, as in wrangler.toml: staging or production',
      isRequired: true,
    },
    url: {
      value: '<url>',
      help: 'the address of the service; otherwise its custom domain, or its address at workers.dev',
      parse: parseOrigin,
    },
    allowDirty: { help: 'deploy files that are not committed' },
    skipCheck: { help: 'skip npm run check, for example after CI ran it' },
  },
  store: 'none',
  async run({ env, url, allowDirty, skipCheck }, { variables, report, withStore, inspectEnvironment, openSecrets }) {
    const target = { remote: true, env }
    const { name: worker, vars } = await readWranglerConfig(env)
    parseVariables(vars)
    const incomplete = findIncompleteCredentials(variables)
    if (incomplete !== undefined) throw new UserError(incomplete)
    const findObstacles = async () => {
      const found = await withStore(target, async (store) =>
        findDeployObstacles(store, await inspectEnvironment(target), await openSecrets(target)),
      )
      if (allowDirty || (await isCleanCheckout())) return found
      return [...found, 'Not everything here is committed: see git status. Commit it, or add --allow-dirty.']
    }
    const steps = {
      findObstacles,
      findOrigin: async () => url ?? findOrigin(target),
      check: async () => skipCheck || runProjectCheck(),
      findLiveVersion: () => findLiveVersion(target),
      deploy: (origin: string) => deployWithWrangler(env, origin),
      smokeTest: (origin: string, id: string) =>
        runSmokeTest({ origin, version: { worker, id }, variables }, systemClock, report),
    }
    await deployGuarded(env, steps, report)
  },
})
