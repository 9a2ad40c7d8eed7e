// Decides whether a run of the benchmark is slower than the baseline, beyond the noise of both.

/** A median and the interval that contains it with 95 % confidence. */
export interface Estimate {
  median: number
  low: number
  high: number
}

export type Verdict = 'regression' | 'improvement' | 'unchanged' | 'no baseline'

/** A smaller change is not reported, even if it is certain: machines differ by as much. */
const minRelativeChange = 0.05

/** With fewer rounds no interval of 95 % confidence exists. */
export const minRounds = 6

/**
 * Estimates the median of the rounds. The interval comes from the sign test: it makes no assumption about the distribution
 * of the noise, and a single outlier does not widen it.
 * @param rounds at least `minRounds` values
 */
export function estimateMedian(rounds: readonly number[]): Estimate {
  const sorted = rounds.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const outside = countOutside(sorted.length)
  const middle = (sorted.length - 1) / 2
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    low: at(outside),
    high: at(sorted.length - 1 - outside),
  }
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

/** A change is real if the two intervals do not overlap, and matters if the medians differ by more than 5 %. */
export function compareWithBaseline(current: Estimate, baseline: Estimate | undefined): Verdict {
  if (baseline === undefined) return 'no baseline'
  const change = current.median / baseline.median - 1
  if (current.high < baseline.low && change < -minRelativeChange) return 'regression'
  if (current.low > baseline.high && change > minRelativeChange) return 'improvement'
  return 'unchanged'
}
