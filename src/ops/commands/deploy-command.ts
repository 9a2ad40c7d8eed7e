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
import { UserError } from '../shared/user-error.ts'
import type { Handler } from './declaration.ts'
import type { deployDeclaration } from './programs.ts'
import { parseOrigin } from './shared-flags.ts'

export const deployCommand: Handler<typeof deployDeclaration> = async (
  { env, url: flag, allowDirty, skipCheck },
  { io, variables, report },
) => {
  const environment = await readConfiguredEnvironment(env)
  // An unset variable of CI is empty.
  const url = flag ?? (variables['SMOKE_URL'] ? parseOrigin(variables['SMOKE_URL']) : undefined)
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) throw new UserError(incomplete)
  // As wrangler decides whether to ask, started by deployWithWrangler.
  const hasTerminal = Boolean(io.stdin.isTTY && io.stdout.isTTY && !variables['CI'])
  await deployGuarded(
    environment,
    { url, allowDirty, skipCheck, hasTerminal },
    openDeploySteps(environment, variables, report),
    report,
  )
}

/** @param report gets the lines of the smoke test. @param variables have its credentials. */
export function openDeploySteps(
  environment: ConfiguredEnvironment,
  variables: SmokeTarget['variables'],
  report: (line: string) => void,
): DeploySteps {
  const { env, worker } = environment
  return {
    readState: (allowDirty) => readDeployState(environment, allowDirty),
    listLiveVersions: () => listServiceVersions(env),
    check: runProjectCheck,
    deploy: () => deployWithWrangler(env),
    lacksNameOrCertificate,
    smokeTest: (origin, id) => runSmokeTest({ origin, version: { worker, id }, variables }, systemClock, report),
  }
}
