// Runs the comparisons in turn for some rounds.
import type { Comparison } from './comparisons.ts'
import { runLoad, type Sample } from './load.ts'
import { estimateMedian, type Estimate } from './regression.ts'

export interface RatioRow {
  name: string
  goal: number
  /** Requests per second of the Worker, as a share of those of the bare Worker. */
  ratio: Estimate
  app: Sample
  bare: Sample
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
