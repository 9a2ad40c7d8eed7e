// What a check of a service found, and how the checks of a command are run beside each other.
import { ConfigError } from '../../../api/config.ts'
import { findCloudflareError } from '../../store/failure.ts'
import { UserError } from '../../shared/user-error.ts'

export interface HealthCheck {
  name: string
  /** `problem`: somebody must act. */
  level: 'ok' | 'warning' | 'problem'
  message: string
}

export type Finding = Omit<HealthCheck, 'name'>

export const ok = (message: string): Finding => ({ level: 'ok', message })
export const warning = (message: string): Finding => ({ level: 'warning', message })
export const problem = (message: string): Finding => ({ level: 'problem', message })

/**
 * Runs checks at the same time. When Cloudflare fails for one of them, the others still answer, and what fails for several in the
 * same way is one line.
 */
export async function runChecks(
  checks: Readonly<Record<string, () => Finding | Finding[] | Promise<Finding | Finding[]>>>,
): Promise<HealthCheck[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const findings = [await Promise.resolve().then(check).catch(describeFailure)].flat()
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
export function describeFailure(error: unknown): Finding {
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
