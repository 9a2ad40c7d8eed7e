// What fails, for whom and how long: D1, its primary, KV and Cloudflare's API; and how far replicas lag behind.
import type { Clock } from './clock.ts'
import type { Journal } from './journal.ts'
import { createRandom } from './random.ts'

/** `flaky`: each call fails by chance, before or after its effect. */
export type Condition = 'fine' | 'slow' | 'flaky' | 'failing' | 'hanging'
/** `primary`: only the primary of D1, while replicas answer. */
export type Part = 'd1' | 'primary' | 'kv'

export const locations = ['nairobi', 'kampala', 'london'] as const
/** Who calls: an isolate of a location, the schedule, or an operator over Cloudflare's API. */
export const paths = [...locations, 'schedule', 'api'] as const
export type Path = (typeof paths)[number]

interface Window {
  part: Part
  paths: readonly Path[]
  condition: Condition
  untilMs: number
}

export type Weather = ReturnType<typeof createWeather>

const secondMs = 1000
const minuteMs = 60 * secondMs
const severity: Condition[] = ['fine', 'slow', 'flaky', 'failing', 'hanging']

export function createWeather(clock: Clock, seed: string, journal: Journal) {
  const random = createRandom(`${seed} weather`)
  let windows: Window[] = []
  let troubleUntilMs = -Infinity
  const lags = locations.map(() => [{ fromMs: -Infinity, lagMs: 500 }])

  function begin(part: Part, condition: Condition, forMs: number, where: readonly Path[] = paths): void {
    troubleUntilMs = Math.max(troubleUntilMs, clock.nowMs() + forMs)
    windows.push({ part, condition, paths: where, untilMs: clock.nowMs() + forMs })
    const place = where.length === paths.length ? '' : ` for ${where.join(', ')}`
    journal.note(`${part} is ${condition}${place} for ${Math.round(forMs / secondMs)} s`, 'world')
  }

  function beginAny(): void {
    const durations = [
      random.between(20, 120),
      random.between(20, 120),
      random.between(300, 2400),
      random.between(3600, 4 * 3600),
    ]
    const forMs = random.pick(durations) * secondMs
    const condition = random.pick<Condition>(['slow', 'flaky', 'failing', 'failing', 'hanging'])
    const where = random.pick([paths, paths, [random.pick(locations)], ['api'] as const, locations])
    begin(random.pick<Part>(['d1', 'd1', 'd1', 'primary', 'kv']), condition, forMs, where)
  }

  async function blow(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(100 * minuteMs))
      beginAny()
    }
  }

  async function drift(index: number): Promise<void> {
    for (;;) {
      const lagMs = random.pick([
        ...Array.from({ length: 13 }, () => random.between(50, 2000)),
        ...Array.from({ length: 5 }, () => random.between(5, 40) * secondMs),
        random.between(60, 300) * secondMs,
      ])
      lags[index]?.push({ fromMs: clock.nowMs(), lagMs })
      if (lagMs > 5 * secondMs)
        journal.note(`the replica of ${locations[index]} lags by ${Math.round(lagMs / secondMs)} s`, 'world')
      await clock.sleep(lagMs > minuteMs ? random.between(1, 6) * minuteMs : random.around(10 * minuteMs))
    }
  }

  return {
    begin,
    /** Starts the changes of the weather. */
    start: () => {
      void blow()
      locations.forEach((_, index) => void drift(index))
    },
    conditionOf(part: Part, path: Path): Condition {
      windows = windows.filter(({ untilMs }) => untilMs > clock.nowMs())
      const worst = windows
        .filter(
          (window) =>
            (window.part === part || (part === 'primary' && window.part === 'd1')) && window.paths.includes(path),
        )
        .map(({ condition }) => severity.indexOf(condition))
      return severity[Math.max(0, ...worst)] ?? 'fine'
    },
    /** When the last trouble ends. */
    troubleUntilMs: () => troubleUntilMs,
    lagOf: (index: number): number => lags[index]?.at(-1)?.lagMs ?? 0,
    /** The largest lag of any replica since then. */
    maxLagSince: (sinceMs: number): number =>
      Math.max(
        ...lags.map((history) =>
          history.reduce(
            (most, { lagMs }, index) =>
              (history[index + 1]?.fromMs ?? Infinity) > sinceMs ? Math.max(most, lagMs) : most,
            0,
          ),
        ),
      ),
  }
}
