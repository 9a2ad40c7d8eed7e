// The result of a check, and how a command runs its checks at the same time.
import { ConfigError } from '../../../api/config.ts'
import { findCloudflareError } from '../../store/failure.ts'
import { UserError } from '../../shared/user-error.ts'

export interface HealthCheck {
  name: string
  /** `problem`: somebody must act. */
  level: 'ok' | 'warning' | 'problem'
  message: string
  /** Of a plan: see PlanFinding. */
  rule?: string
  subject?: string
}

export type CheckResult = Omit<HealthCheck, 'name'>

export const ok = (message: string): CheckResult => ({ level: 'ok', message })
export const warning = (message: string): CheckResult => ({ level: 'warning', message })
export const problem = (message: string): CheckResult => ({ level: 'problem', message })

/**
 * Runs checks at the same time. When Cloudflare fails for one of them, the others still answer, and what fails for several in the
 * same way is one line.
 */
export async function runChecks(
  checks: Readonly<Record<string, () => CheckResult | CheckResult[] | Promise<CheckResult | CheckResult[]>>>,
): Promise<HealthCheck[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const findings = [await Promise.resolve().then(check).catch(reportFailure)].flat()
      return findings.map(({ level, message }) => ({ name, level, message }))
    }),
  )
  const merged = new Map<string, HealthCheck>()
  for (const { name, level, message } of found.flat()) {
    const same = merged.get(`${level} ${message}`)
    merged.set(`${level} ${message}`, { name: same ? `${same.name}, ${name}` : name, level, message })
  }
  return [...merged.values()]
}

/** @throws the error unless it is expected. */
export function reportFailure(error: unknown): CheckResult {
  const isKnown = error instanceof UserError || error instanceof ConfigError
  const failure = isKnown ? error : findCloudflareError(error)
  if (failure === undefined) throw error
  return problem(failure.message.replaceAll('\n', ' '))
}

/** @returns how many problems there are, if there is one. */
export function countProblems(checks: readonly HealthCheck[]): string | undefined {
  const count = checks.filter(({ level }) => level === 'problem').length
  if (count === 0) return undefined
  return count === 1 ? '1 problem needs a fix.' : `${count} problems need a fix.`
}
