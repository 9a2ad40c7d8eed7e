// Runs the town: `npm run town -- --seed 7 --days 3`. README.md says how to read what it prints.
import { parseArgs } from 'node:util'
import { createClock } from './clock.ts'
import { createD1World } from './d1-world.ts'
import { createJournal, formatMoment, type Journal } from './journal.ts'
import { createKvWorld } from './kv-world.ts'
import { createOperators, makeSecrets } from './operators.ts'
import { createPartners } from './partners.ts'
import { createRecord } from './record.ts'
import { createRules } from './rules.ts'
import { createService, FixedLengthStream } from './service.ts'
import { createWeather } from './weather.ts'

const startMs = Date.UTC(2026, 10, 2, 8)
const dayMs = 86_400_000
const partnerCount = 7

/** Lets the town live. The same seed gives the same run. */
export async function runTown(seed: string, days: number): Promise<Journal> {
  const clock = createClock(startMs, seed)
  const journal = createJournal(clock.nowMs)
  const restore = [clock.install(), silenceConsole(journal, () => clock.here() !== undefined), catchRejections(journal)]
  Object.assign(globalThis, { FixedLengthStream })
  try {
    const place = { clock: { skewMs: 0 }, isEnded: false }
    await clock.enter(place, async () => {
      const weather = createWeather(clock, seed, journal)
      const d1 = createD1World(clock, weather, seed)
      const kv = createKvWorld(clock, weather, seed)
      const service = createService(clock, weather, d1, kv, seed, journal, makeSecrets(String(startMs / 1000)))
      const record = createRecord(clock, d1, journal)
      const rules = createRules(clock, weather, d1, kv, service, record, journal)
      const partners = createPartners(clock, service, record, rules, seed)
      const { onSecret } = partners
      const operators = createOperators({ clock, weather, d1, kv, service, record, journal, seed, onSecret })
      service.start()
      async function begin() {
        await operators.importInitialCatalog()
        for (let index = 0; index < partnerCount; index++)
          await operators.create('amina', `partner-${index + 1}`, ['KE', 'UG', 'RW'][index % 3] ?? 'KE')
        for (const part of [weather, operators, partners, rules]) part.start()
      }
      void begin()
      await clock.run(startMs + days * dayMs)
    })
  } finally {
    for (const undo of restore) undo()
  }
  return journal
}

/** The log of the service is counted, and not printed. */
function silenceConsole(journal: Journal, isHere: () => boolean): () => void {
  const levels = ['info', 'warn', 'error'] as const
  const original = levels.map((level) => console[level])
  levels.forEach((level, index) => {
    console[level] = (...words: unknown[]) => {
      if (!isHere()) return original[index]?.(...words)
      const { event } = JSON.parse(String(words[0])) as { event: string }
      if (event !== 'request') journal.count(`log ${event}`)
    }
  })
  return () => levels.forEach((level, index) => Object.assign(console, { [level]: original[index] }))
}

function catchRejections(journal: Journal): () => void {
  const listen = (reason: unknown) =>
    journal.report(
      'no rejection without a handler',
      reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    )
  process.on('unhandledRejection', listen)
  return () => void process.off('unhandledRejection', listen)
}

/** @returns what a person reads. */
export function describeTown({ figures, findings }: Journal, seed: string): string {
  const counts = [...figures]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${String(count).padStart(8)}  ${name}`)
  const broken = [...findings.values()].map(({ rule, atMs, facts, events, count }) =>
    [
      '',
      `BROKEN: ${rule}`,
      `seed ${seed}, at ${formatMoment(atMs)}, ${count} times in all`,
      facts,
      'Before:',
      ...events.map((event) => `  ${event}`),
    ].join('\n'),
  )
  return [
    ...counts,
    ...broken,
    '',
    broken.length === 0 ? 'No rule was broken.' : `${broken.length} rules were broken.`,
  ].join('\n')
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, days: { type: 'string', default: '1' } },
  })
  const beganMs = Date.now()
  const journal = await runTown(values.seed, Number(values.days))
  console.log(describeTown(journal, values.seed))
  console.log(`Seed ${values.seed}, ${values.days} days, ${((Date.now() - beganMs) / 1000).toFixed(1)} s.`)
  process.exitCode = journal.findings.size === 0 ? 0 : 1
}
