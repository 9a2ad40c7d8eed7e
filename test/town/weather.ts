// What fails, for whom and for how long: D1, only its primary, or KV; and how far replicas lag behind.
import { createRandom } from './random.ts'
import type { Town } from './journal.ts'

/** From the best to the worst. `flaky`: some calls fail, before or after their effect. */
const conditions = ['fine', 'slow', 'flaky', 'failing', 'hanging'] as const
export type Condition = (typeof conditions)[number]
/** `d1` is its replicas and its primary. */
export type Part = 'd1' | 'primary' | 'kv'

export const locations = ['nairobi', 'kampala', 'london'] as const
/** Who calls: an isolate of a location, the schedule, or an operator over Cloudflare's API. */
const paths = [...locations, 'schedule', 'api'] as const
export type Path = (typeof paths)[number]

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs

export type Weather = ReturnType<typeof createWeather>

export function createWeather({ clock, seed, journal }: Town) {
  const random = createRandom(`${seed} weather`)
  const lags = locations.map(() => [{ fromMs: -Infinity, lagMs: 500 }])
  let storms: { part: Part; where: readonly Path[]; condition: Condition; untilMs: number }[] = []
  let troubleUntilMs = -Infinity

  function begin(part: Part, condition: Condition, forMs: number, where: readonly Path[] = paths): void {
    const untilMs = clock.nowMs() + forMs
    storms.push({ part, condition, where, untilMs })
    troubleUntilMs = Math.max(troubleUntilMs, untilMs)
    const place = where === paths ? '' : ` for ${where.join(', ')}`
    journal.note(`${part} is ${condition}${place} for ${Math.round(forMs / secondMs)} s`, 'world')
  }

  /** Begins a storm every hundred minutes or so. */
  async function blow(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(100 * minuteMs))
      const chance = random.next()
      const [least, most] = chance < 0.6 ? [20, 120] : chance < 0.9 ? [300, 2400] : [3600, 14_400]
      const condition = random.pick<Condition>(['slow', 'flaky', 'failing', 'failing', 'hanging'])
      const where = random.pick([paths, paths, [random.pick(locations)], ['api'] as const, locations])
      const part = random.pick<Part>(['d1', 'd1', 'd1', 'primary', 'kv'])
      begin(part, condition, random.between(least, most) * secondMs, where)
    }
  }

  /** Changes the lag of a replica again and again. */
  async function drift(index: number): Promise<void> {
    for (;;) {
      const chance = random.next()
      const [least, most] = chance < 0.7 ? [0.05, 2] : chance < 0.95 ? [5, 40] : [60, 300]
      const lagMs = random.between(least, most) * secondMs
      lags[index]?.push({ fromMs: clock.nowMs(), lagMs })
      if (least > 1)
        journal.note(`the replica of ${locations[index]} lags by ${Math.round(lagMs / secondMs)} s`, 'world')
      await clock.sleep(least === 60 ? random.between(1, 6) * minuteMs : random.around(10 * minuteMs))
    }
  }

  return {
    /** Begins a storm: a part of Cloudflare has this condition for some time. */
    begin,
    start: () => {
      void blow()
      locations.forEach((_, index) => void drift(index))
    },
    conditionOf(part: Part, path: Path): Condition {
      storms = storms.filter(({ untilMs }) => untilMs > clock.nowMs())
      const felt = storms.filter(
        (storm) => storm.where.includes(path) && [part, part === 'primary' ? 'd1' : part].includes(storm.part),
      )
      return conditions[Math.max(0, ...felt.map(({ condition }) => conditions.indexOf(condition)))] ?? 'fine'
    },
    /** When the last storm ends that has begun so far. */
    troubleUntilMs: () => troubleUntilMs,
    lagOf: (index: number): number => lags[index]?.at(-1)?.lagMs ?? 0,
    /** The largest lag of any replica since a time. */
    maxLagSince: (sinceMs: number): number =>
      Math.max(
        ...lags.flatMap((history) =>
          history.slice(history.findLastIndex(({ fromMs }) => fromMs <= sinceMs)).map(({ lagMs }) => lagMs),
        ),
      ),
  }
}
