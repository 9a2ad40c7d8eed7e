// The committed ratios of an earlier run.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RatioRow } from './measure-ratios.ts'
import type { Estimate } from './regression.ts'

export interface Baseline {
  measuredWith: string
  ratios: Record<string, Estimate>
}

const file = join(import.meta.dirname, 'baseline.json')

export async function readBaseline(): Promise<Baseline> {
  return JSON.parse(await readFile(file, 'utf8')) as Baseline
}

/** Replaces the ratios of these rows. */
export async function writeBaseline(measuredWith: string, rows: readonly RatioRow[]): Promise<void> {
  const round = (value: number) => Number(value.toFixed(3))
  const entries = rows.map(({ name, ratio: { median, low, high } }): [string, Estimate] => [
    name,
    { median: round(median), low: round(low), high: round(high) },
  ])
  const { ratios } = await readBaseline()
  const baseline: Baseline = { measuredWith, ratios: { ...ratios, ...Object.fromEntries(entries) } }
  await writeFile(file, `${JSON.stringify(baseline, undefined, 2)}\n`)
}
