// The code of npm run deploy.
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
import type { Handler } from './declaration.ts'
import type { deployDeclaration } from './programs.ts'

export const deployCommand: Handler<typeof deployDeclaration> = async (
  { env, url, allowDirty, skipCheck },
  { io, variables, report, withStore, inspectEnvironment },
) => {
  const environment = await readConfiguredEnvironment(env)
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) throw new UserError(incomplete)
  // As wrangler decides whether to ask, started by deployWithWrangler.
  const hasTerminal = Boolean(io.stdin.isTTY && io.stdout.isTTY && !variables['CI'])
  const { worker } = environment
  const target = { remote: true, env }
  const steps = {
    readState: (mayBeDirty: boolean) => readDeployState(environment, mayBeDirty),
    examine: () => withStore(target, async (store) => findDeployObstacles(store, await inspectEnvironment(target))),
    listLiveVersions: () => listServiceVersions(env),
    findOrigin: async () => url ?? findOrigin({ env }),
    check: runProjectCheck,
    deploy: (site: string) => deployWithWrangler(env, site),
    smokeTest: (site: string, id: string) =>
      runSmokeTest({ origin: site, version: { worker, id }, variables }, systemClock, report),
  }
  await deployGuarded(environment, { allowDirty, skipCheck, hasTerminal }, steps, report)
}
