// A deploy: refused unless everything is right, then checked by the smoke test, and always with the way back.
import { UserError } from '../shared/user-error.ts'
import type { SmokeOutcome } from './smoke-test.ts'

/** What a deploy does outside of this process. */
export interface DeploySteps {
  /** @returns a line for each reason not to deploy. */
  findObstacles: () => Promise<string[]>
  /** Where partners will find the service: the site names it, and the smoke test calls it. */
  findOrigin: () => Promise<string>
  /** `npm run check`. */
  check: () => Promise<boolean>
  /** The version that answers requests; undefined before the first deploy. */
  findLiveVersion: () => Promise<string | undefined>
  /** `wrangler deploy`. @returns the ID of the version; undefined when it failed. */
  deploy: (origin: string) => Promise<string | undefined>
  /** Waits until the version answers. */
  smokeTest: (origin: string, versionId: string) => Promise<SmokeOutcome>
}

/**
 * @param report gets lines for people.
 * @throws UserError with a line for each reason not to deploy, or when the new version is not known to work.
 */
export async function deployGuarded(env: string, steps: DeploySteps, report: (line: string) => void): Promise<void> {
  const obstacles = await steps.findObstacles()
  if (obstacles.length > 0) throw new UserError(obstacles)
  const origin = await steps.findOrigin()
  if (!(await steps.check())) {
    throw new UserError('npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.')
  }
  const before = await steps.findLiveVersion()
  const wayBack =
    before === undefined
      ? 'It is the first version, so there is none to go back to.'
      : `To go back to the version before: npx wrangler rollback ${before} --env ${env}`
  const versionId = await steps.deploy(origin)
  if (versionId === undefined) {
    // It may fail after the new version went live, for example when it can't set the schedule.
    throw new UserError([
      `wrangler deploy failed: see its message above, and "When Cloudflare refuses" in src/worker/DEPLOY.md.`,
      `What is live now: npx wrangler deployments status --env ${env}`,
      wayBack,
    ])
  }
  report(`Version ${versionId} is deployed to ${env}: ${origin}`)
  const outcome = await steps.smokeTest(origin, versionId)
  if (outcome === 'failed') throw new UserError(`The smoke test failed, and version ${versionId} is live. ${wayBack}`)
  if (outcome === 'unreachable') {
    throw new UserError([
      `Version ${versionId} is live, and not tested: ${origin} does not answer. A new domain does once it has its certificate.`,
      wayBack,
    ])
  }
  report(wayBack)
}
