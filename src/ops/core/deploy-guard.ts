// What must be right before a deploy, and how to fix what is not.
import type { ConfiguredEnvironment, DeployState } from '../store/deployment.ts'
import type { LiveVersion } from '../store/worker-versions.ts'
import {
  describeCommand,
  describeDeploy,
  describeMigration,
  describeMissingIds,
  type Target,
} from '../shared/target.ts'

/** @returns a line for each mistake in wrangler.toml. With a missing ID, wrangler would create an empty database by itself. */
export function findMistakes(environment: Omit<ConfiguredEnvironment, 'worker'>): string[] {
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
export function findObstacles(
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
    typeof changedFiles !== 'string' &&
      changedFiles.length > 0 &&
      `The checkout has changes in ${listSome(changedFiles)}. Commit them, or add --allow-dirty.`,
  ].filter((obstacle) => typeof obstacle === 'string')
}

/** @param code of Cloudflare, which refused the upload. @returns how to go on; undefined when wrangler's message says it. */
export function explainRefusal(env: string, code: number | undefined): string | undefined {
  switch (code) {
    case 10089:
      return `Analytics Engine is off in this account. Switch it on at https://dash.cloudflare.com/?to=/:account/workers/analytics-engine, wait two minutes, and deploy again.`
    case 100328:
      return `The account has the free plan of Workers, which refuses a limit of CPU time. Change to the paid plan; or, to try the service, delete [limits] from wrangler.toml and set PBKDF2_ITERATIONS = 30000 in [env.${env}.vars].`
    default:
      return undefined
  }
}

const maxListed = 3

function listSome(names: readonly string[]): string {
  const rest = names.length - maxListed
  return `${names.slice(0, maxListed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** @returns the version to go back to: the one with most of the requests. */
export function pickMainVersion(versions: readonly LiveVersion[]): string | undefined {
  return versions.toSorted((a, b) => b.percentage - a.percentage)[0]?.versionId
}

/** @param targets of a deploy, as wrangler lists them: hosts, routes and schedules. */
export function pickUrl(targets: readonly string[]): string | undefined {
  const hosts = targets.flatMap(
    (target) => /^(?:https:\/\/)?([\w.-]+\.[\w-]+(?::\d+)?)(?: \(.*\))?$/.exec(target)?.[1] ?? [],
  )
  // A domain of its own, if there is one.
  const host = hosts.find((name) => !name.endsWith('.workers.dev')) ?? hosts[0]
  return host === undefined ? undefined : `https://${host}`
}
