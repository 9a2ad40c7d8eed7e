// Whether an environment keeps its promises: what happened to requests, what an operator must fix, and how the service answers now.
import type { QueryUsage } from '../store/usage-dataset.ts'
import { systemClock } from './clock.ts'
import { describeFailure, ok, problem, runChecks, warning, type Finding, type HealthCheck } from './health-check.ts'
import { runSmokeTest, type SmokeTarget } from './smoke-test.ts'
import { alerts } from './usage-queries.ts'

interface WatchTools {
  query: QueryUsage
  /** What `doctor` finds. */
  examine: () => Promise<HealthCheck[]>
  findOrigin: () => Promise<string>
  /** The credentials of the smoke test. */
  variables: SmokeTarget['variables']
}

/** Whatever can't be asked is a problem, too: silence is none. */
export async function watch({ query, examine, findOrigin, variables }: WatchTools): Promise<HealthCheck[]> {
  const questions = Object.entries(alerts).map(([name, { write, judge }]) => [
    name,
    async () => judge(await query(write)),
  ])
  const [usage, health, smoke] = await Promise.all([
    runChecks(Object.fromEntries(questions)),
    examine().catch((error: unknown) => [{ name: 'doctor', ...describeFailure(error) }]),
    runChecks({ smoke: async () => checkFromOutside({ origin: await findOrigin(), variables }) }),
  ])
  return [...usage, ...health, ...smoke]
}

async function checkFromOutside(target: SmokeTarget): Promise<Finding | Finding[]> {
  const lines: string[] = []
  const outcome = await runSmokeTest(target, systemClock, (line) => lines.push(line))
  const { origin, variables } = target
  if (outcome === 'unreachable') return problem(`${origin} does not answer: ${lines.at(-1)?.replace(/^FAIL +/, '')}`)
  if (outcome === 'failed') return lines.filter((line) => line.startsWith('FAIL')).map((line) => problem(line.slice(6)))
  const message = `${origin}: ${lines.at(-1)}.`
  return variables['CLIENT_ID']
    ? ok(message)
    : warning(`${message} No token was requested: set CLIENT_ID, CLIENT_SECRET and SHORT_NAME.`)
}
