// A deploy: refused unless everything is right, then checked by the smoke test, and always with the way back.
import { describeDeploy, describeMissingIds } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import type { ConfiguredEnvironment, DeployState } from '../store/deployment.ts'
import type { LiveVersion } from '../store/worker-versions.ts'
import type { SmokeOutcome } from './smoke-test.ts'

export interface DeployOptions {
  allowDirty: boolean
  skipCheck: boolean
  /** Whether wrangler can ask the user. */
  hasTerminal: boolean
}

/** What a deploy does outside of this process. */
export interface DeploySteps {
  readState: (allowDirty: boolean) => Promise<DeployState>
  /** @returns a line for each reason of the environment not to deploy. */
  examine: () => Promise<string[]>
  /** The versions that answer requests; none before the first deploy. */
  listLiveVersions: () => Promise<LiveVersion[]>
  /** Where partners will find the service: the site names it, and the smoke test calls it. */
  findOrigin: () => Promise<string>
  /** `npm run check`. */
  check: () => Promise<boolean>
  /** `wrangler deploy`. @returns the ID of the version; undefined when it failed. */
  deploy: (origin: string) => Promise<string | undefined>
  /** Waits until the version answers. */
  smokeTest: (origin: string, versionId: string) => Promise<SmokeOutcome>
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
  const [found, state] = await Promise.all([steps.examine(), steps.readState(options.allowDirty)])
  const obstacles = [...found, ...findObstacles(env, state, options.hasTerminal)]
  if (obstacles.length > 0) throw new UserError(obstacles)
  const origin = await steps.findOrigin()
  if (!options.skipCheck && !(await steps.check())) {
    throw new UserError('npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.')
  }

  const before = pickMainVersion(await steps.listLiveVersions())
  const versionId = await steps.deploy(origin)
  if (versionId === undefined) throw new UserError(await describeFailure(env, before, steps))
  const wayBack = describeWayBack(env, before)
  report(`Version ${versionId} is deployed to ${env}: ${origin}`)
  const outcome = await steps.smokeTest(origin, versionId)
  if (outcome === 'unreachable') {
    const smoke = `npm run -s smoke -- --url ${origin} --version ${environment.worker}=${versionId}`
    throw new UserError([
      `Version ${versionId} is live, and not tested: ${origin} does not answer. A new domain does once it has its DNS record and its certificate. Then run: ${smoke}`,
      wayBack,
    ])
  }
  if (outcome === 'failed') throw new UserError(`The smoke test failed, and version ${versionId} is live. ${wayBack}`)
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
  { listLiveVersions }: DeploySteps,
): Promise<string> {
  const wayBack = describeWayBack(env, before)
  try {
    const live = pickMainVersion(await listLiveVersions())
    if (live !== before) {
      return `wrangler deploy failed, and version ${live} is live in ${env}: see its message above, and deploy again. ${wayBack}`
    }
    return `wrangler deploy failed, and nothing changed in ${env}: see its message above, and "When Cloudflare refuses" in src/worker/DEPLOY.md.`
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `wrangler deploy failed: see its message above. It is not known whether a new version is live in ${env}: ${reason} When Cloudflare answers, see: npx wrangler deployments status --env ${env}. ${wayBack}`
  }
}

/** @returns a line for each mistake in wrangler.toml. With a missing ID, wrangler would create an empty database by itself. */
function findMistakes(environment: ConfiguredEnvironment): string[] {
  const { env, databaseId, namespaceId, hasRoute, isWorkersDevOn } = environment
  return [
    (!databaseId || !namespaceId) && describeMissingIds(env, environment),
    hasRoute &&
      isWorkersDevOn &&
      `[env.${env}] has a route, and workers_dev is on: the rules of its zone would not apply at workers.dev. Remove workers_dev from wrangler.toml.`,
  ].filter((mistake) => typeof mistake === 'string')
}

/**
 * @param hasTerminal whether wrangler can ask before it takes a domain from another Worker or a DNS record: without a
 * terminal, it takes it.
 * @returns a line for each reason not to deploy.
 */
function findObstacles(
  env: string,
  { newDomains, changedFiles }: DeployState,
  hasTerminal: boolean,
): readonly string[] {
  return [
    ...(hasTerminal ? [] : newDomains).map(
      (domain) =>
        `${domain} is not yet a domain of this Worker, and would be taken from whatever has it. Make the first deploy with it by hand, in a terminal: ${describeDeploy({ env })}`,
    ),
    changedFiles === 'no checkout' &&
      'This folder is not a git checkout, so the deploy could not be traced. Add --allow-dirty to deploy it anyway.',
    Array.isArray(changedFiles) &&
      changedFiles.length > 0 &&
      `The checkout has changes in ${listSome(changedFiles)}. Commit them, or add --allow-dirty.`,
  ].filter((obstacle) => typeof obstacle === 'string')
}

const maxListed = 3

function listSome(names: readonly string[]): string {
  const rest = names.length - maxListed
  return `${names.slice(0, maxListed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** @returns the version to go back to: the one with most of the requests. */
function pickMainVersion(versions: readonly LiveVersion[]): string | undefined {
  return versions.toSorted((a, b) => b.percentage - a.percentage)[0]?.versionId
}
