import { describe, expect, test } from 'vitest'
import { createRandom, type Random } from '../simulation/random.ts'
import { compareWithBaseline, estimateMedian, minRounds } from './regression.ts'

const rounds = 31
const runs = 2000

describe('the estimate', () => {
  test.each([
    { rounds: 15, median: 8, low: 4, high: 12 },
    { rounds: 31, median: 16, low: 10, high: 22 },
    { rounds: 101, median: 51, low: 41, high: 61 },
  ])('of $rounds rounds is the median, with round $low and $high as its interval', ({ rounds: count, ...estimate }) => {
    const values = Array.from({ length: count }, (_, index) => index + 1)
    expect(estimateMedian(values)).toEqual(estimate)
  })

  test('spans all values of the fewest rounds', () => {
    const values = Array.from({ length: minRounds }, (_, index) => index + 1)
    expect(estimateMedian(values)).toEqual({ median: 3.5, low: 1, high: 6 })
  })

  test('contains the true median in at least 95 % of runs', () => {
    const random = createRandom(1)
    const hits = countRuns(() => {
      const { low, high } = estimateMedian(drawRun(random, 1, 0.1))
      return low <= 1 && 1 <= high
    })
    expect(hits / runs).toBeGreaterThan(0.95)
  })
})

describe('the comparison with the baseline', () => {
  const steady = (median: number) => ({ median, low: median * 0.98, high: median * 1.02 })

  test('finds a regression although one round is far too fast', () => {
    const slow = [...Array.from({ length: rounds - 1 }, () => 0.8), 5]
    expect(compareWithBaseline(estimateMedian(slow), steady(1))).toBe('regression')
  })

  test('ignores a change below 5 %, however certain', () => {
    expect(compareWithBaseline({ median: 0.96, low: 0.96, high: 0.96 }, steady(1))).toBe('unchanged')
    expect(compareWithBaseline({ median: 0.94, low: 0.94, high: 0.94 }, steady(1))).toBe('regression')
  })

  test('ignores a large change within the noise', () => {
    expect(compareWithBaseline({ median: 0.8, low: 0.6, high: 1 }, steady(1))).toBe('unchanged')
  })

  test('reports an improvement and a row without a baseline', () => {
    expect(compareWithBaseline(steady(1.2), steady(1))).toBe('improvement')
    expect(compareWithBaseline(steady(1), undefined)).toBe('no baseline')
  })

  test.each([
    { noise: 0.1, speed: 1, minRate: 0, maxRate: 0.01 },
    { noise: 0.1, speed: 0.8, minRate: 0.99, maxRate: 1 },
    { noise: 0.2, speed: 1, minRate: 0, maxRate: 0.01 },
    { noise: 0.2, speed: 0.7, minRate: 0.95, maxRate: 1 },
  ])(
    'with a noise of $noise reports a speed of $speed as a regression in $minRate to $maxRate of runs',
    ({ noise, speed, minRate, maxRate }) => {
      const random = createRandom(2)
      const regressions = countRuns(() => {
        const baseline = estimateMedian(drawRun(random, 1, noise))
        return compareWithBaseline(estimateMedian(drawRun(random, speed, noise)), baseline) === 'regression'
      })
      expect(regressions / runs).toBeGreaterThanOrEqual(minRate)
      expect(regressions / runs).toBeLessThanOrEqual(maxRate)
    },
  )
})

function countRuns(isHit: () => boolean): number {
  return Array.from({ length: runs }, isHit).filter(Boolean).length
}

/**
 * Ratios of a run, spread log-normally around the true one.
 * @param noise the standard deviation of a round, relative to the ratio
 */
function drawRun(random: Random, ratio: number, noise: number): number[] {
  return Array.from({ length: rounds }, () => {
    const normal = Math.sqrt(2 * random.exponential(1)) * Math.cos(random.between(0, 2 * Math.PI))
    return ratio * Math.exp(noise * normal)
  })
}
