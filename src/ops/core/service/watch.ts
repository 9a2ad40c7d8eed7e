// Runs `watch`: reads the counts of past requests, and runs the checks of `doctor` and a smoke test.
import type { QueryUsage } from '../../store/cloudflare-api.ts'
import type { Clock } from '../../shared/clock.ts'
import { toProblem, ok, problem, runChecks, warning, type CheckResult, type NamedResult } from './health-check.ts'
import { describeIncompleteCredentials, runSmokeTest, type SmokeTarget } from './smoke-test.ts'
import { alerts } from './usage-queries.ts'

interface WatchTools {
  /** Runs SQL on the counted requests of the environment. */
  query: QueryUsage
  runDoctorChecks: () => Promise<NamedResult[]>
  requireOrigin: () => Promise<string>
  /** Environment variables, with the credentials of the partner of the smoke test. */
  variables: SmokeTarget['variables']
  clock: Clock
}

/** A smoke test that failed is repeated once, after this time: one lost connection is no outage. */
const retryDelayMs = 5000

/** Runs all checks. A check that can't be made is a problem, too: without a result, the environment would look healthy. */
export async function watch({
  query,
  runDoctorChecks,
  requireOrigin,
  variables,
  clock,
}: WatchTools): Promise<NamedResult[]> {
  // DEPLOY.md calls the partner of the smoke test `smoke`.
  const smokePartner = variables['SHORT_NAME'] || 'smoke'
  const alertChecks: Record<string, () => Promise<CheckResult | CheckResult[]>> = {}
  for (const [name, { writeQuery, evaluate }] of Object.entries(alerts)) {
    alertChecks[name] = async () => evaluate(await query(writeQuery), smokePartner)
  }
  const results = await Promise.all([
    runChecks(alertChecks),
    runDoctorChecks().catch((error: unknown) => [{ name: 'doctor', ...toProblem(error) }]),
    runChecks({ smoke: async () => runSmokeTestWithRetry({ origin: await requireOrigin(), variables }, clock) }),
  ])
  return results.flat()
}

async function runSmokeTestWithRetry(target: SmokeTarget, clock: Clock): Promise<CheckResult | CheckResult[]> {
  const { origin, variables } = target
  const credentialsProblem = describeIncompleteCredentials(variables)
  if (credentialsProblem !== undefined) return problem(credentialsProblem)
  const runQuietly = () => runSmokeTest(target, clock, () => {})
  let result = await runQuietly()
  if (result.outcome !== 'passed') {
    await clock.sleep(retryDelayMs)
    result = await runQuietly()
  }
  const { outcome, failures, passed } = result
  if (outcome === 'unreachable') return problem(`${origin} does not answer. The failed check: ${failures.join()}`)
  if (outcome === 'failed') return failures.map(problem)
  const message = `${origin}: ${passed} passed.`
  return variables['CLIENT_ID']
    ? ok(message)
    : warning(`${message} No token was requested: set CLIENT_ID, CLIENT_SECRET and SHORT_NAME.`)
}
