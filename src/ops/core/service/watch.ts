// `watch`: checks whether a deployed environment keeps its promises, by its requests of the past hours, by the checks of `doctor`, and by
// a smoke test.
import type { QueryUsage } from '../../store/cloudflare-api.ts'
import type { Clock } from '../../shared/clock.ts'
import { toProblem, ok, problem, runChecks, warning, type CheckResult, type NamedResult } from './health-check.ts'
import { findIncompleteCredentials, runSmokeTest, type SmokeTarget } from './smoke-test.ts'
import { alerts } from './usage-queries.ts'

interface WatchTools {
  /** Asks for the requests that were counted. */
  query: QueryUsage
  /** Runs the checks of `doctor`. */
  runDoctorChecks: () => Promise<NamedResult[]>
  /** Finds the address of the service. */
  findOrigin: () => Promise<string>
  /** Environment variables with the credentials of the smoke test's partner. */
  variables: SmokeTarget['variables']
  clock: Clock
}

/** One lost connection is no outage: a smoke test that failed is repeated once, after this time. */
const pauseMs = 5000

/** Runs all checks. When one can't ask, that is a problem, too: otherwise, silence would look healthy. */
export async function watch({
  query,
  runDoctorChecks,
  findOrigin,
  variables,
  clock,
}: WatchTools): Promise<NamedResult[]> {
  const smokePartner = variables['SHORT_NAME'] || 'smoke'
  const questions = Object.entries(alerts).map(
    ([name, { writeQuery, evaluate }]): [string, () => Promise<CheckResult | CheckResult[]>] => [
      name,
      async () => evaluate(await query(writeQuery), smokePartner),
    ],
  )
  const [usage, health, smoke] = await Promise.all([
    runChecks(Object.fromEntries(questions)),
    runDoctorChecks().catch((error: unknown) => [{ name: 'doctor', ...toProblem(error) }]),
    runChecks({
      smoke: async () => checkFromOutside({ origin: await findOrigin(), variables }, clock),
    }),
  ])
  return [...usage, ...health, ...smoke]
}

async function checkFromOutside(target: SmokeTarget, clock: Clock): Promise<CheckResult | CheckResult[]> {
  const { origin, variables } = target
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) return problem(incomplete)
  const test = () => runSmokeTest(target, clock, () => {})
  let result = await test()
  if (result.outcome !== 'passed') {
    await clock.sleep(pauseMs)
    result = await test()
  }
  const { outcome, failures, passed } = result
  if (outcome === 'unreachable') return problem(`${origin} does not answer: ${failures.join()}`)
  if (outcome === 'failed') return failures.map(problem)
  const message = `${origin}: ${passed} passed.`
  return variables['CLIENT_ID']
    ? ok(message)
    : warning(`${message} No token was requested: set CLIENT_ID, CLIENT_SECRET and SHORT_NAME.`)
}
