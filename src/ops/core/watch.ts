// Whether an environment keeps its promises: what happened to requests, what an operator must fix, and how the service answers now.
import type { QueryUsage } from '../store/usage-dataset.ts'
import { systemClock } from './clock.ts'
import { ok, problem, runChecks, warning, type Finding, type HealthCheck } from './health-check.ts'
import { runSmokeTest, type SmokeTarget } from './smoke-test.ts'
import { alerts } from './usage-queries.ts'

/**
 * @param examine is `doctor`.
 * @param target of the smoke test.
 */
export async function watch(
  query: QueryUsage,
  examine: () => Promise<HealthCheck[]>,
  target: SmokeTarget,
): Promise<HealthCheck[]> {
  const questions = Object.entries(alerts).map(([name, { write, judge }]) => [
    name,
    async () => judge(await query(write)),
  ])
  const [usage, health, smoke] = await Promise.all([
    runChecks(Object.fromEntries(questions)),
    examine(),
    runChecks({ smoke: () => checkFromOutside(target) }),
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
