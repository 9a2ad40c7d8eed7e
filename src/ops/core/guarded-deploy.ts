// A deploy: refused unless everything is right, then checked by the smoke test, and always with the way back.
import {
  describeCommand,
  describeDeploy,
  describeMigration,
  describeMissingIds,
  type Target,
} from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import type { ConfiguredEnvironment, DeployState, deployWithWrangler } from '../store/deployment.ts'
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
  /** The versions that answer requests; none before the first deploy. */
  listLiveVersions: () => Promise<LiveVersion[]>
  /** Where partners will find the service: the site names it, and the smoke test calls it. */
  findOrigin: () => Promise<string>
  /** `npm run check`. */
  check: () => Promise<boolean>
  /** `wrangler deploy`. */
  deploy: (origin: string) => ReturnType<typeof deployWithWrangler>
  lacksNameOrCertificate: (origin: string) => Promise<boolean>
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
  const state = await steps.readState(options.allowDirty)
  const obstacles = findObstacles(env, state, options.hasTerminal)
  if (obstacles.length > 0) throw new UserError(obstacles)
  const origin = await steps.findOrigin()
  if (!options.skipCheck && !(await steps.check())) {
    throw new UserError('npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.')
  }

  const before = pickMainVersion(await steps.listLiveVersions())
  const deployed = await steps.deploy(origin)
  if ('failureCode' in deployed) throw new UserError(await describeFailure(env, before, deployed.failureCode, steps))
  const { versionId } = deployed
  const wayBack = describeWayBack(env, before)
  report(`Version ${versionId} is deployed to ${env}: ${origin}`)
  const outcome = await steps.smokeTest(origin, versionId)
  if (outcome === 'unreachable' && (await steps.lacksNameOrCertificate(origin))) {
    const smoke = `npm run -s smoke -- --url ${origin} --version ${environment.worker}=${versionId}`
    const notice = `It is not tested: ${origin} does not answer yet, for lack of its DNS record or its certificate. When it does, run: ${smoke}`
    if (!state.newDomains.includes(new URL(origin).hostname)) throw new UserError(`${notice} ${wayBack}`)
    // The name of a new domain spreads, and Cloudflare issues its certificate, after the deploy.
    report(notice)
    report(wayBack)
    return
  }
  if (outcome !== 'passed') {
    const problem = outcome === 'failed' ? 'The smoke test failed' : `The service does not answer at ${origin}`
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
  failureCode: number | undefined,
  { listLiveVersions }: DeploySteps,
): Promise<string> {
  const wayBack = describeWayBack(env, before)
  try {
    const live = pickMainVersion(await listLiveVersions())
    if (live !== before) {
      return `wrangler deploy failed, and version ${live} is live in ${env}: see its message above, and deploy again. ${wayBack}`
    }
    const reason = explainRefusal(env, failureCode)
    return `wrangler deploy failed, and nothing changed in ${env}${reason === undefined ? ': see its message above.' : `. ${reason}`}`
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `wrangler deploy failed: see its message above. It is not known whether a new version is live in ${env}: ${reason} When Cloudflare answers, see: npx wrangler deployments status --env ${env}. ${wayBack}`
  }
}

/** @returns a line for each mistake in wrangler.toml. With a missing ID, wrangler would create an empty database by itself. */
function findMistakes(environment: ConfiguredEnvironment): string[] {
  const { env, databaseId, namespaceId, hasRoute, isWorkersDevOn, hasVersionBinding } = environment
  return [
    (!databaseId || !namespaceId) && `${describeMissingIds(env, environment)}; then commit wrangler.toml.`,
    hasRoute &&
      isWorkersDevOn &&
      `[env.${env}] has a route, and workers_dev is on: the rules of its zone would not apply at workers.dev. Remove workers_dev from wrangler.toml.`,
    !hasVersionBinding &&
      `[env.${env}] has no binding VERSION, so the smoke test could not tell the new version from the one before. Add the table [env.${env}.version_metadata] to wrangler.toml, with the line binding = "VERSION".`,
  ].filter((mistake) => typeof mistake === 'string')
}

/**
 * @param hasTerminal whether wrangler can ask before it takes a domain from another Worker or a DNS record: without a
 * terminal, it takes it.
 * @returns a line for each reason not to deploy.
 */
function findObstacles(
  env: string,
  { pendingMigrations, missingSecrets, newDomains, changedFiles }: DeployState,
  hasTerminal: boolean,
): readonly string[] {
  const target: Target = { remote: true, env }
  return [
    pendingMigrations.length > 0 &&
      `The database lacks ${listSome(pendingMigrations)}. Run: ${describeMigration(target)}`,
    ...missingSecrets.map((name) =>
      name === 'JWT_KEYS'
        ? `The secret JWT_KEYS is not set. Run: ${describeCommand(target, 'keys', 'rotate')}`
        : `The secret ${name} is not set. Run: npx wrangler secret put ${name} --env ${env}`,
    ),
    ...(hasTerminal ? [] : newDomains).map(
      (domain) =>
        `${domain} is not yet a domain of this Worker, and would be taken from whatever has it. Make the first deploy with it by hand, in a terminal: ${describeDeploy(target)}`,
    ),
    changedFiles === 'no checkout' &&
      'This folder is not a git checkout, so the deploy could not be traced. Add --allow-dirty to deploy it anyway.',
    Array.isArray(changedFiles) &&
      changedFiles.length > 0 &&
      `The checkout has changes in ${listSome(changedFiles)}. Commit them, or add --allow-dirty.`,
  ].filter((obstacle) => typeof obstacle === 'string')
}

/** @param code of Cloudflare, which refused the upload. @returns how to go on; undefined when wrangler's message says it. */
function explainRefusal(env: string, code: number | undefined): string | undefined {
  if (code === 10089)
    return `Analytics Engine is off in this account. Switch it on at https://dash.cloudflare.com/?to=/:account/workers/analytics-engine, wait two minutes, and deploy again.`
  if (code === 100328)
    return `The account has the free plan of Workers, which refuses a limit of CPU time. Change to the paid plan; or, to try the service, delete [limits] from wrangler.toml and set PBKDF2_ITERATIONS = 30000 in [env.${env}.vars].`
  return undefined
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
