// Declares the results of the checks of `doctor` and `watch`, and runs the checks.
import { ConfigError } from '../../../api/config.ts'
import { findCloudflareError } from '../../store/failure.ts'
import { UserError } from '../../shared/user-error.ts'

export interface NamedResult {
  name: string
  /** `problem`: somebody must act. `warning`: somebody should look at it. */
  level: 'ok' | 'warning' | 'problem'
  message: string
  /** The rule and the subject of a finding about a plan (PlanFinding). Other results have neither. */
  rule?: string
  subject?: string
}

export type CheckResult = Omit<NamedResult, 'name'>

export const ok = (message: string): CheckResult => ({ level: 'ok', message })
export const warning = (message: string): CheckResult => ({ level: 'warning', message })
export const problem = (message: string): CheckResult => ({ level: 'problem', message })

type Check = () => Promise<CheckResult | CheckResult[]>

/**
 * Runs checks at the same time. A check that fails with an expected error, such as one of Cloudflare, has this error as its result. Equal
 * results of several checks become one.
 * @param checks the checks by their names.
 */
export async function runChecks(checks: Readonly<Record<string, Check>>): Promise<NamedResult[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const results = [await check().catch(toProblem)].flat()
      return results.map((result) => ({ name, result }))
    }),
  )
  const merged = new Map<string, NamedResult>()
  for (const { name, result } of found.flat()) {
    const key = JSON.stringify(result)
    const same = merged.get(key)
    merged.set(key, { name: same ? `${same.name}, ${name}` : name, ...result })
  }
  return [...merged.values()]
}

/**
 * Reports an expected error as a problem. Expected are a mistake of the user, a wrong setting and a failure of Cloudflare.
 * @throws any other error, because it is a bug.
 */
export function toProblem(error: unknown): CheckResult {
  const isOfUser = error instanceof UserError || error instanceof ConfigError
  const expected = isOfUser ? error : findCloudflareError(error)
  if (expected === undefined) throw error
  return problem(expected.message.replaceAll('\n', ' '))
}

/** @returns such as `2 problems need a fix.`; undefined without a problem. */
export function summarizeProblems(checks: readonly NamedResult[]): string | undefined {
  const count = checks.filter(({ level }) => level === 'problem').length
  if (count === 0) return undefined
  return count === 1 ? '1 problem needs a fix.' : `${count} problems need a fix.`
}
