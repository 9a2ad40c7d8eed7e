// The code of npm run deploy.
import { deployGuarded, type DeploySteps } from '../core/guarded-deploy.ts'
import { systemClock } from '../core/clock.ts'
import { findIncompleteCredentials, runSmokeTest, type SmokeTarget } from '../core/smoke-test.ts'
import {
  deployWithWrangler,
  lacksNameOrCertificate,
  listServiceVersions,
  readConfiguredEnvironment,
  readDeployState,
  runProjectCheck,
  type ConfiguredEnvironment,
} from '../store/deployment.ts'
import { findOrigin } from '../store/origin.ts'
import { UserError } from '../shared/user-error.ts'
import type { Handler } from './declaration.ts'
import type { deployDeclaration } from './programs.ts'

export const deployCommand: Handler<typeof deployDeclaration> = async (
  { env, url, allowDirty, skipCheck },
  { io, variables, report },
) => {
  const environment = await readConfiguredEnvironment(env)
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) throw new UserError(incomplete)
  // As wrangler decides whether to ask, started by deployWithWrangler.
  const hasTerminal = Boolean(io.stdin.isTTY && io.stdout.isTTY && !variables['CI'])
  await deployGuarded(
    environment,
    { allowDirty, skipCheck, hasTerminal },
    openDeploySteps(environment, url, variables, report),
    report,
  )
}

/** @param origin of the service; undefined: to be found. @param report gets the lines of the smoke test. @param variables have its credentials. */
export function openDeploySteps(
  environment: ConfiguredEnvironment,
  origin: string | undefined,
  variables: SmokeTarget['variables'],
  report: (line: string) => void,
): DeploySteps {
  const { env, worker } = environment
  return {
    readState: (allowDirty) => readDeployState(environment, allowDirty),
    listLiveVersions: () => listServiceVersions(env),
    findOrigin: async () => origin ?? findOrigin({ env }),
    check: runProjectCheck,
    deploy: (site) => deployWithWrangler(env, site),
    lacksNameOrCertificate,
    smokeTest: (site, id) => runSmokeTest({ origin: site, version: { worker, id }, variables }, systemClock, report),
  }
}
