// The code of npm run deploy.
import { readOrigin } from '../../api/origin.ts'
import { deployGuarded, type DeploySteps } from '../core/guarded-deploy.ts'
import { findIncompleteCredentials, originRule } from '../core/smoke-input.ts'
import {
  deployWithWrangler,
  lacksNameOrCertificate,
  listServiceVersions,
  readConfiguredEnvironment,
  readDeployState,
  runProjectCheck,
  runSmokeTest,
  type ConfiguredEnvironment,
} from '../store/deployment.ts'
import { UserError } from '../shared/user-error.ts'
import type { Handler } from './declaration.ts'
import type { deployDeclaration } from './programs.ts'

export const deployCommand: Handler<typeof deployDeclaration> = async (
  { env, url: flag, allowDirty, skipCheck },
  { io, variables, report },
) => {
  const environment = await readConfiguredEnvironment(env)
  // An unset variable of CI is empty.
  const givenUrl = flag ?? (variables['SMOKE_URL'] || undefined)
  const url = givenUrl === undefined ? undefined : readOrigin(givenUrl)
  if (givenUrl !== undefined && url === undefined) throw new UserError(originRule)
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) throw new UserError(incomplete)
  // As wrangler decides whether to ask, started by deployWithWrangler.
  const hasTerminal = Boolean(io.stdin.isTTY && io.stdout.isTTY && !variables['CI'])
  await deployGuarded(environment, { url, allowDirty, skipCheck, hasTerminal }, openDeploySteps(environment), report)
}

export function openDeploySteps(environment: ConfiguredEnvironment): DeploySteps {
  const { env, worker } = environment
  return {
    readState: (allowDirty) => readDeployState(environment, { allowDirty }),
    listLiveVersions: () => listServiceVersions(env),
    check: runProjectCheck,
    deploy: () => deployWithWrangler(env),
    lacksNameOrCertificate,
    smokeTest: (url, versionId) => runSmokeTest(url, worker, versionId),
  }
}
