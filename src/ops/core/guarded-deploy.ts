// A deploy: refused unless everything is right, then checked by the smoke test, and always with the way back.
import type { ConfiguredEnvironment, Deployed, DeployState, FailedDeploy } from '../store/deployment.ts'
import type { SmokeOutcome } from './smoke-test.ts'
import type { LiveVersion } from '../store/worker-versions.ts'
import { explainRefusal, findMistakes, findObstacles, pickMainVersion, pickUrl } from './deploy-guard.ts'
import { UserError } from '../shared/user-error.ts'

export interface DeployOptions {
  allowDirty: boolean
  skipCheck: boolean
  /** Where the smoke test finds the service. By default, where wrangler says. */
  url: string | undefined
  /** Whether wrangler can ask the user. */
  hasTerminal: boolean
}

/** What a deploy does outside of this process. */
export interface DeploySteps {
  readState: (allowDirty: boolean) => Promise<DeployState>
  /** The versions that answer requests; none before the first deploy. */
  listLiveVersions: () => Promise<LiveVersion[]>
  /** `npm run check`. */
  check: () => Promise<boolean>
  /** `wrangler deploy`. */
  deploy: () => Promise<Deployed | FailedDeploy>
  lacksNameOrCertificate: (url: string) => Promise<boolean>
  /** Waits until the version answers. */
  smokeTest: (url: string, versionId: string) => Promise<SmokeOutcome>
}

/**
 * @param report gets lines for people.
 * @throws UserError with a line for each reason not to deploy, or when the new version is not known to work.
 */
export async function deployGuarded(
  environment: ConfiguredEnvironment,
  options: DeployOptions,
  steps: DeploySteps,
  report: (line: string) => void,
): Promise<void> {
  const { env } = environment
  const mistakes = findMistakes(environment)
  if (mistakes.length > 0) throw new UserError(mistakes)
  const state = await steps.readState(options.allowDirty)
  const obstacles = findObstacles(env, state, options.hasTerminal)
  if (obstacles.length > 0) throw new UserError(obstacles)
  if (!options.skipCheck && !(await steps.check())) {
    throw new UserError('npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.')
  }

  const before = pickMainVersion(await steps.listLiveVersions())
  const deployed = await steps.deploy()
  if ('failureCode' in deployed) throw new UserError(await describeFailure(env, before, deployed, steps))
  const { versionId, targets } = deployed
  const wayBack = describeWayBack(env, before)
  const url = options.url ?? pickUrl(targets)
  if (url === undefined) {
    throw new UserError(
      `Version ${versionId} is deployed to ${env}, and not tested: wrangler names no host. Run: npm run -s smoke -- --url https://HOST; next time, add --url. ${wayBack}`,
    )
  }
  report(`Version ${versionId} is deployed to ${env}: ${url}`)
  const outcome = await steps.smokeTest(url, versionId)
  if (outcome === 'unreachable' && (await steps.lacksNameOrCertificate(url))) {
    const smoke = `npm run -s smoke -- --url ${url} --version ${environment.worker}=${versionId}`
    const notice = `It is not tested: ${url} does not answer yet, for lack of its DNS record or its certificate. When it does, run: ${smoke}`
    if (!state.newDomains.includes(new URL(url).hostname)) throw new UserError(`${notice} ${wayBack}`)
    // The name of a new domain spreads, and Cloudflare issues its certificate, after the deploy.
    report(notice)
    report(wayBack)
    return
  }
  if (outcome !== 'passed') {
    const problem = outcome === 'failed' ? 'The smoke test failed' : `The service does not answer at ${url}`
    throw new UserError(`${problem}, and version ${versionId} is live. ${wayBack}`)
  }
  report(wayBack)
}

function describeWayBack(env: string, before: string | undefined): string {
  return before === undefined
    ? 'It is the first version, so there is none to go back to.'
    : `To go back to the version before: npx wrangler rollback ${before} --env ${env}`
}

/** Wrangler may fail after the new version went live, for example when it can't set the schedule. */
async function describeFailure(
  env: string,
  before: string | undefined,
  { failureCode }: FailedDeploy,
  steps: DeploySteps,
): Promise<string> {
  const wayBack = describeWayBack(env, before)
  let live: string | undefined
  try {
    live = pickMainVersion(await steps.listLiveVersions())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `wrangler deploy failed: see its message above. It is not known whether a new version is live in ${env}: ${reason} When Cloudflare answers, see: npx wrangler deployments status --env ${env}. ${wayBack}`
  }
  if (live === before) {
    const reason = explainRefusal(env, failureCode)
    return `wrangler deploy failed, and nothing changed in ${env}${reason === undefined ? ': see its message above.' : `. ${reason}`}`
  }
  return `wrangler deploy failed, and version ${live} is live in ${env}: see its message above, and deploy again. ${wayBack}`
}
