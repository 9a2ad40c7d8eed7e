// Measures the ratio of each comparison in some rounds.
import type { Comparison } from './comparisons.ts'
import { runLoad, type Sample } from './load.ts'

/** A median and the interval that contains it with 95 % confidence. */
interface Estimate {
  median: number
  low: number
  high: number
}

export interface RatioRow {
  name: string
  goal: number
  /** Requests per second of the Worker, as a share of those of the bare Worker. */
  ratio: Estimate
  app: Sample
  bare: Sample
}

/** Whether the whole interval is below the goal. */
export function isMissed({ ratio, goal }: RatioRow): boolean {
  return ratio.high < goal
}

interface Round {
  app: Sample
  bare: Sample
}

/**
 * Measures the Worker and the bare Worker directly after each other, so that both meet the same noise. The order alternates,
 * so that neither gains from coming second.
 */
export async function measureRatios(
  comparisons: readonly Comparison[],
  rounds: number,
  seconds: number,
  note: (text: string) => void,
): Promise<RatioRow[]> {
  const measured = comparisons.map((comparison) => ({ comparison, samples: [] as Round[] }))
  for (let round = 0; round < rounds; round++) {
    note(`Round ${round + 1} of ${rounds} …`)
    for (const { comparison, samples } of measured) {
      const runApp = async () => runLoad(await comparison.app(), seconds)
      const runBare = async () => runLoad(await comparison.bare(), seconds)
      if (round % 2 === 0) {
        samples.push({ app: await runApp(), bare: await runBare() })
      } else {
        const bare = await runBare()
        samples.push({ app: await runApp(), bare })
      }
    }
  }
  return measured.map(({ comparison: { name, goal }, samples }) => ({
    name,
    goal,
    ratio: estimateMedian(samples.map(({ app, bare }) => app.requestsPerSecond / bare.requestsPerSecond)),
    app: getMedians(samples.map(({ app }) => app)),
    bare: getMedians(samples.map(({ bare }) => bare)),
  }))
}

function getMedians(samples: readonly Sample[]): Sample {
  return {
    requestsPerSecond: estimateMedian(samples.map(({ requestsPerSecond }) => requestsPerSecond)).median,
    p50Ms: estimateMedian(samples.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: estimateMedian(samples.map(({ p99Ms }) => p99Ms)).median,
  }
}

/**
 * Estimates the median of at least six values. The interval comes from the sign test: it makes no assumption about the
 * distribution of the noise, and a single outlier does not widen it.
 */
function estimateMedian(values: readonly number[]): Estimate {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const outside = countOutside(sorted.length)
  const middle = (sorted.length - 1) / 2
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2
  return { median, low: at(outside), high: at(sorted.length - 1 - outside) }
}

/**
 * Counts the sorted values that the interval leaves out at each end. Each value is below the true median with probability
 * ½, so the value at `index` is above it only if at most `index` values are below: a probability of a binomial distribution.
 */
function countOutside(rounds: number): number {
  let probability = 0.5 ** rounds
  let tail = probability
  let index = 0
  while (tail <= 0.025) {
    index++
    probability *= (rounds - index + 1) / index
    tail += probability
  }
  return index - 1
}
