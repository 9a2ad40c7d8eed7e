// npm run deploy
import { findDeployObstacles } from '../core/doctor.ts'
import { deployGuarded } from '../core/guarded-deploy.ts'
import { systemClock } from '../core/clock.ts'
import { findIncompleteCredentials, runSmokeTest } from '../core/smoke-test.ts'
import {
  deployWithWrangler,
  listServiceVersions,
  readConfiguredEnvironment,
  readDeployState,
  runProjectCheck,
} from '../store/deployment.ts'
import { findOrigin } from '../store/origin.ts'
import { UserError } from '../shared/user-error.ts'
import { parseOrigin } from './shared-flags.ts'
import { verb } from './verb.ts'

export const deploy = verb({
  help: `Deploy the Worker and its site to an environment of wrangler.toml, then run the smoke test.

It refuses with IDs, bindings, migrations or secrets missing, with files that are not committed, and
when npm run check fails.`,
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
  async run(
    { env, url, allowDirty, skipCheck },
    { io, variables, report, withStore, inspectEnvironment, openSecrets },
  ) {
    const environment = await readConfiguredEnvironment(env)
    const incomplete = findIncompleteCredentials(variables)
    if (incomplete !== undefined) throw new UserError(incomplete)
    // As wrangler decides whether to ask, started by deployWithWrangler.
    const hasTerminal = Boolean(io.stdin.isTTY && io.stdout.isTTY && !variables['CI'])
    const { worker } = environment
    const target = { remote: true, env }
    const steps = {
      readState: (mayBeDirty: boolean) => readDeployState(environment, mayBeDirty),
      examine: () =>
        withStore(target, async (store) =>
          findDeployObstacles(store, await inspectEnvironment(target), await openSecrets(target)),
        ),
      listLiveVersions: () => listServiceVersions(env),
      findOrigin: async () => url ?? findOrigin({ env }),
      check: runProjectCheck,
      deploy: (site: string) => deployWithWrangler(env, site),
      smokeTest: (site: string, id: string) =>
        runSmokeTest({ origin: site, version: { worker, id }, variables }, systemClock, report),
    }
    await deployGuarded(environment, { allowDirty, skipCheck, hasTerminal }, steps, report)
  },
})
