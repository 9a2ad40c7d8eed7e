// A short slice of npm run simulate.
import { expect, test } from 'vitest'
import { countLists, type Meter } from './report.ts'
import { simulate } from './simulated-world.ts'
import { dayMs, shapes, type Shape } from './traffic.ts'

async function runWithinRules(shape: Shape, durationMs: number, seed = 1): Promise<Meter> {
  const { meter, violations } = await simulate({ shape, seed, durationMs, stopsAtViolation: true })
  expect(violations).toEqual([])
  return meter
}

test('no answer breaks a rule in half a day on which everything fails', async () => {
  const meter = await runWithinRules(shapes.storm, dayMs / 2)
  // The rules had something to check.
  expect(countLists(meter)).toBeGreaterThan(2500)
  expect(Math.min(meter.lists.kv, meter.lists.outage, meter.refused, meter.unavailable)).toBeGreaterThan(0)
})

test('partners that poll every five minutes wait for one round trip', async () => {
  const meter = await runWithinRules(shapes.few, 2 * dayMs)
  expect(meter.trips.quantile(0.9)).toBe(1)
  expect(meter.answerMs.quantile(0.5)).toBeLessThanOrEqual(110)
  expect(meter.d1Queries / countLists(meter)).toBeLessThan(1.1)
})

test('a partner that asks 1,000 times a second is served from memory', async () => {
  const meter = await runWithinRules(shapes.flood, 60_000)
  expect(meter.lists.memory / countLists(meter)).toBeGreaterThan(0.99)
  expect(meter.trips.quantile(0.99)).toBe(0)
  // 12 isolates write 20 lines a second each, and one in a hundred beyond that.
  expect(meter.logLines / meter.requests).toBeLessThan(0.26)
})

test('a seed repeats a run', async () => {
  const run = async (seed: number) => {
    const { trips, answerMs, ...counts } = await runWithinRules(shapes.storm, dayMs / 8, seed)
    return { ...counts, slowest: answerMs.max(), answers: trips.count() }
  }
  const first = await run(7)
  expect(await run(7)).toEqual(first)
  expect(await run(8)).not.toEqual(first)
})
