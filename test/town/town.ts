// Runs the town: `npm run town -- --seed 7 --days 3`. README.md says how to read what it prints.
import { parseArgs } from 'node:util'
import { createClock, type Clock } from './clock.ts'
import { createD1World } from './d1-world.ts'
import { createJournal, type Journal, type Town } from './journal.ts'
import { createKvWorld } from './kv-world.ts'
import { createOperators } from './operators.ts'
import { createPartners } from './partners.ts'
import { createRecord } from './record.ts'
import { createRules } from './rules.ts'
import { createService } from './service.ts'
import { createWeather, hourMs } from './weather.ts'

const startMs = Date.UTC(2026, 10, 2, 8)

/** Runs the town until its time is over or a rule is broken. The same seed gives the same run. */
export async function runTown(seed: string, days: number): Promise<Journal> {
  const clock = createClock(startMs, seed)
  const journal = createJournal(clock.nowMs)
  const onRejection = (reason: unknown) =>
    journal.report('no rejection without a handler', String(reason instanceof Error ? reason.stack : reason), 'all')
  process.on('unhandledRejection', onRejection)
  const restore = [clock.install(), silenceLog(clock, journal)]
  try {
    await clock.enter({ clock: { skewMs: 0 }, isEnded: false }, () => {
      void settle({ seed, clock, journal })
      return clock.run(startMs + days * 24 * hourMs, () => journal.state.finding !== undefined)
    })
  } finally {
    restore.toReversed().forEach((undo) => undo())
    process.off('unhandledRejection', onRejection)
  }
  return journal
}

/** Creates the parts of the town, and starts them. */
async function settle(base: Town): Promise<void> {
  const weather = createWeather(base)
  const d1 = createD1World({ ...base, weather })
  const kv = createKvWorld({ ...base, weather })
  const service = createService({ ...base, d1, kv }, startMs / 1000)
  const record = createRecord({ ...base, d1 })
  const rules = createRules({ ...base, weather, d1, kv, service, record })
  const partners = createPartners({ ...base, service, record, rules })
  const operators = createOperators({ ...base, weather, d1, kv, service, record, partners })
  service.start()
  await operators.settle()
  for (const part of [weather, partners, rules, operators]) part.start()
}

/** Counts the log lines of the service instead of printing them. @returns a function that restores the console. */
function silenceLog(clock: Clock, journal: Journal): () => void {
  const { info, warn, error } = console
  const count = (print: typeof info) => (line: string) =>
    clock.here() ? journal.count(`log ${JSON.parse(line).event}`) : print(line)
  Object.assign(console, { info: count(info), warn: count(warn), error: count(error) })
  return () => void Object.assign(console, { info, warn, error })
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, days: { type: 'string', default: '1' } },
  })
  const { figures, state } = await runTown(values.seed, Number(values.days))
  for (const [name, count] of [...figures].toSorted(([a], [b]) => a.localeCompare(b)))
    console.log(String(count).padStart(8), name)
  console.log(`\n${state.finding ?? 'No rule was broken.'}`)
  console.log(`Seed ${values.seed}, ${values.days} days, ${Math.round(performance.now() / 1000)} s.`)
  process.exitCode = state.finding === undefined ? 0 : 1
}
