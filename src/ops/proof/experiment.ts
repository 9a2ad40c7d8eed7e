// An assumption about Cloudflare, and the small experiment that decides it.
import { describeProblem } from './proof-steps.ts'

/** A row of the table that DEPLOY.md ends with. */
export interface Assumption {
  assumption: string
  /** Where it comes from. */
  source: string
  /** What `npm run prove` does to decide it. */
  experiment: string
  /** Why no run can decide it. */
  whyUntried?: string
}

export interface Outcome {
  /** `answered`: nothing relies on the answer. `failed`: the experiment ended before it had an answer. */
  verdict: 'as assumed' | 'differs' | 'answered' | 'failed' | 'not tried'
  /** What happened, for a reader of the report. */
  found: string
}

export type Finding = Assumption & Outcome

export interface Experiment<Lab> extends Assumption {
  run: (lab: Lab) => Promise<Outcome>
}

export function conclude(isAsAssumed: boolean, found: string): Outcome {
  return { verdict: isAsAssumed ? 'as assumed' : 'differs', found }
}

/** Runs an experiment. One that fails decides nothing, and stops no other. */
export async function decide<Lab>({ run, ...assumption }: Experiment<Lab>, lab: Lab): Promise<Finding> {
  try {
    return { ...assumption, ...(await run(lab)) }
  } catch (error) {
    return { ...assumption, verdict: 'failed', found: describeProblem(error) }
  }
}

/** The finding for an assumption that this run did not decide. */
export function skip({ whyUntried = 'not reached', ...assumption }: Assumption): Finding {
  return { ...assumption, verdict: 'not tried', found: whyUntried }
}
