// npm run simulate: prints what each shape of traffic costs, and ends with 1 when an answer breaks a rule.
import { parseArgs } from 'node:util'
import { installMutant, mutants } from './mutants.ts'

const help = `npm run simulate -- [flags]

  --shape NAME    few, many, flood, outage, storm or all (default: all)
  --seed N        repeats a run (default: 1)
  --weeks N       simulated time; also --days, --minutes (default: each shape's own)
  --keep-going    count violations of the rules instead of ending at the first
  --reuse-revisions  after a restore, revisions are used a second time: shows why they must not be
  --mutant NAME   put a mistake into the policy, which a rule must notice:
${Object.entries(mutants)
  .map(([name, { mistake }]) => `                    ${name.padEnd(20)} ${mistake}`)
  .join('\n')}
`

const { values: flags } = parseArgs({
  options: {
    shape: { type: 'string', default: 'all' },
    seed: { type: 'string', default: '1' },
    weeks: { type: 'string' },
    days: { type: 'string' },
    minutes: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    'reuse-revisions': { type: 'boolean', default: false },
    mutant: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (flags.help) {
  process.stdout.write(help)
  process.exit()
}
if (flags.mutant !== undefined) installMutant(flags.mutant)

// After the mutant, which changes what these import.
const { simulate, startMs } = await import('./simulated-world.ts')
const { shapes, dayMs, weekMs } = await import('./traffic.ts')
const { formatReport } = await import('./report.ts')
const { ruleNames } = await import('./rules.ts')

const seed = Number(flags.seed)
const chosen = Object.values(shapes).filter(({ name }) => flags.shape === 'all' || flags.shape === name)
const flagMs = Number(flags.weeks ?? 0) * weekMs + Number(flags.days ?? 0) * dayMs + Number(flags.minutes ?? 0) * 60_000
if (chosen.length === 0 || !Number.isInteger(seed) || !(flagMs >= 0)) {
  process.stderr.write(help)
  process.exit(2)
}

for (const shape of chosen) {
  const durationMs = flagMs || shape.durationMs
  const startedAtMs = performance.now()
  let announcedAtMs = startedAtMs
  const { meter, violations, simulatedMs } = await simulate({
    shape: { ...shape, reusesRevisions: flags['reuse-revisions'] },
    seed,
    durationMs,
    stopsAtViolation: !flags['keep-going'],
    onProgress: (doneMs) => {
      if (!process.stderr.isTTY || performance.now() - announcedAtMs < 1000) return
      announcedAtMs = performance.now()
      process.stderr.write(`\r${shape.name}: ${Math.floor((100 * doneMs) / durationMs)} % `)
    },
  })
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K')
  const title = `${shape.name}: ${shape.title} (seed ${seed})`
  process.stdout.write(`${formatReport(title, meter, simulatedMs, performance.now() - startedAtMs)}\n`)
  const firsts = new Map(violations.toReversed().map((violation) => [violation.rule, violation]))
  for (const [rule, { atMs, facts }] of firsts) {
    const count = violations.filter((violation) => violation.rule === rule).length
    const at = `${((atMs - startMs) / dayMs).toFixed(5)} days, ${new Date(atMs).toISOString()}`
    process.stdout.write(`  BROKEN ${rule} (${count} times, first after ${at}, seed ${seed}): ${facts}\n`)
    process.stdout.write(`         ${ruleNames[rule]}\n`)
    process.exitCode = 1
  }
  process.stdout.write('\n')
}
