// Measures the ratio of each comparison in some rounds.
import type { Comparison } from './comparisons.ts'
import { runLoad } from './load.ts'

/** A median and the interval that contains it with 95 % confidence. */
interface Estimate {
  median: number
  low: number
  high: number
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
): Promise<{ rows: Record<string, string>[]; isMissed: boolean }> {
  const measured = comparisons.map((comparison) => ({ comparison, ratios: [] as number[] }))
  for (let round = 0; round < rounds; round++) {
    note(`Round ${round + 1} of ${rounds} …`)
    for (const { comparison, ratios } of measured) {
      const rates = { app: 0, bare: 0 }
      for (const kind of round % 2 === 0 ? (['app', 'bare'] as const) : (['bare', 'app'] as const)) {
        rates[kind] = (await runLoad(await comparison[kind](), seconds)).requestsPerSecond
      }
      ratios.push(rates.app / rates.bare)
    }
  }
  const estimates = measured.map(({ comparison: { name, goal }, ratios }) => {
    const { median, low, high } = estimateMedian(ratios)
    // The whole interval is below the goal.
    return { name, goal, isMissed: high < goal, ratio: `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})` }
  })
  const rows = estimates.map(({ name, goal, isMissed, ratio }) => ({
    WHAT: name,
    RATIO: ratio,
    GOAL: `${goal.toFixed(2)}${isMissed ? ' missed' : ''}`,
  }))
  return { rows, isMissed: estimates.some(({ isMissed }) => isMissed) }
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
