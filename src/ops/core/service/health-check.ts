// Declares the results of the checks of `doctor` and `watch`, and runs the checks.
import { ConfigError } from '../../../api/config.ts'
import { findCloudflareError } from '../../store/failure.ts'
import { UserError } from '../../shared/user-error.ts'

export interface NamedResult {
  /** The name of the check, or of several checks with the same result. */
  name: string
  /** `problem`: somebody must act. `warning`: somebody should look at it. */
  level: 'ok' | 'warning' | 'problem'
  message: string
  /** The rule and the subject of a finding about a plan or a list (PlanFinding). Undefined for other results. */
  rule?: string
  subject?: string
}

export type CheckResult = Omit<NamedResult, 'name'>

export const ok = (message: string): CheckResult => ({ level: 'ok', message })
export const warning = (message: string): CheckResult => ({ level: 'warning', message })
export const problem = (message: string): CheckResult => ({ level: 'problem', message })

type Check = () => Promise<CheckResult | CheckResult[]>

/** Runs checks at the same time. Equal results become one result, with the names of all their checks. @throws only bugs: see `toProblem`. */
export async function runChecks(checks: Readonly<Record<string, Check>>): Promise<NamedResult[]> {
  const resultsByCheck = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const results = [await check().catch(toProblem)].flat()
      return results.map((result) => ({ name, result }))
    }),
  )
  const resultsByText = new Map<string, NamedResult>()
  for (const { name, result } of resultsByCheck.flat()) {
    const key = JSON.stringify(result)
    const equalResult = resultsByText.get(key)
    resultsByText.set(key, { name: equalResult ? `${equalResult.name}, ${name}` : name, ...result })
  }
  return [...resultsByText.values()]
}

/** Makes a problem of a mistake of the user, a wrong setting or a failure of Cloudflare. @throws any other error, because it is a bug. */
export function toProblem(error: unknown): CheckResult {
  const isMistake = error instanceof UserError || error instanceof ConfigError
  const expectedError = isMistake ? error : findCloudflareError(error)
  if (expectedError === undefined) throw error
  return problem(expectedError.message.replaceAll('\n', ' '))
}

/** @returns a sentence such as `2 problems need a fix.`; undefined without a problem. */
export function summarizeProblems(results: readonly NamedResult[]): string | undefined {
  const count = results.filter(({ level }) => level === 'problem').length
  if (count === 0) return undefined
  return count === 1 ? '1 problem needs a fix.' : `${count} problems need a fix.`
}
