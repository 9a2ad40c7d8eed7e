// Runs steps one after the other until one fails or the run is stopped.
import { setTimeout } from 'node:timers/promises'
import { UserError } from '../shared/user-error.ts'
import { CloudflareError } from '../store/failure.ts'

export interface Step {
  title: string
  seconds: number
  /** Why it failed. */
  problem: string | undefined
}

export type RunStep = <T>(title: string, work: () => Promise<T>) => Promise<T>

/** The reason without what only the terminal may show: another error's message can hold parameters of a query. */
export function describeProblem(error: unknown): string {
  const isExpected = error instanceof UserError || error instanceof CloudflareError
  return isExpected ? error.message : `A bug, ${error instanceof Error ? error.name : typeof error}: see the terminal.`
}

/** How long a step that is stopped may still take: what it is making would otherwise be made after the deletion. */
const maxEndMs = 60_000

/** @returns a function that runs a step, notes how it ended, and rejects at once when `signal` aborts. */
export function createStepRunner(
  steps: Step[],
  signal: AbortSignal,
  print: (line: string) => void,
  endMs = maxEndMs,
): RunStep {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  return async (title, work) => {
    signal.throwIfAborted()
    print(`${title} …`)
    const startMs = performance.now()
    const step: Step = { title, seconds: 0, problem: undefined }
    steps.push(step)
    const running = work()
    try {
      return await Promise.race([running, aborted])
    } catch (error) {
      step.problem = describeProblem(error)
      await Promise.race([running.catch(() => {}), setTimeout(endMs)])
      throw error
    } finally {
      step.seconds = (performance.now() - startMs) / 1000
    }
  }
}
