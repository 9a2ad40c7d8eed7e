// npm run bench: compares the Worker as deployed with bare Workers, side by side in one workerd, and the ratios with
// baseline.json. README.md explains the figures.
import { parseArgs } from 'node:util'
import { readBaseline, writeBaseline } from './baseline.ts'
import {
  formatCommands,
  formatCosts,
  formatFlood,
  formatGrowth,
  formatLatency,
  formatMemory,
  formatOutage,
  formatRatios,
  type ComparedRow,
} from './bench-report.ts'
import { startBench } from './bench-setup.ts'
import { prepareComparisons } from './comparisons.ts'
import { measureCommands } from './measure-commands.ts'
import { measureCosts, measureStartup } from './measure-costs.ts'
import { measureFlood } from './measure-flood.ts'
import { measureGrowth } from './measure-growth.ts'
import { isTooManyTrips, measureLatency } from './measure-latency.ts'
import { measureMemory } from './measure-memory.ts'
import { measureOutage } from './measure-outage.ts'
import { measureRatios } from './measure-ratios.ts'
import { compareWithBaseline, minRounds } from './regression.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '31' },
    seconds: { type: 'string', default: '0.5' },
    only: { type: 'string', default: '' },
    before: { type: 'string' },
    all: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'update-baseline': { type: 'boolean', default: false },
  },
})
const [rounds, seconds] = [Number(flags.rounds), Number(flags.seconds)]
const note = (text: string) => void process.stderr.write(`${text}\n`)

if (!(Number.isInteger(rounds) && rounds >= minRounds && seconds > 0)) {
  note(`--rounds must be an integer of at least ${minRounds}, and --seconds must be positive.`)
  process.exitCode = 2
} else if (flags.only === 'commands') {
  process.stdout.write(formatCommands(await measureCommands(flags.before, note)))
} else {
  await run()
}

async function run(): Promise<void> {
  note('Building the Worker and filling its stores …')
  const bench = await startBench()
  try {
    const measuredWith = `Node ${process.version}, ${rounds} rounds of ${seconds} s`
    const startupMs = await measureStartup()
    const costs = await measureCosts(bench)
    const comparisons = (await prepareComparisons(bench)).filter(({ name }) => name.includes(flags.only))
    const rows = comparisons.length === 0 ? [] : await measureRatios(comparisons, rounds, seconds, note)
    const baseline = await readBaseline()
    const ratios = rows.map((row): ComparedRow => {
      const before = baseline.ratios[row.name]
      return { ...row, baseline: before, verdict: compareWithBaseline(row.ratio, before) }
    })
    const latency = 'latency'.includes(flags.only) ? await measureLatency(bench.bundle, note) : []
    const memory = 'readers'.includes(flags.only) ? await measureMemory(bench.bundle, note) : []
    const outage = flags.all || flags.only === 'outage' ? await measureOutage(bench.bundle, note) : []
    const growth = flags.all ? await measureGrowth(bench, seconds) : undefined
    const flood = flags.all ? await measureFlood(bench, seconds) : undefined

    const { gzipBytes } = bench.bundle
    if (flags.json) {
      const report = { measuredWith, gzipBytes, startupMs, costs, ratios, latency, memory, outage, growth, flood }
      process.stdout.write(`${JSON.stringify(report)}\n`)
    } else {
      const size = `Bundle ${(gzipBytes / 1024).toFixed(1)} KiB gzip, start-up ${startupMs} ms of CPU.`
      const tables = [
        formatRatios(ratios),
        formatCosts(costs),
        formatLatency(latency),
        formatMemory(memory),
        formatOutage(outage),
        growth && formatGrowth(growth),
        flood && formatFlood(flood),
      ]
      process.stdout.write([`${measuredWith}\n${size}\n`, ...tables.filter((table) => table !== undefined)].join('\n'))
    }
    if (flags['update-baseline']) {
      await writeBaseline(measuredWith, rows)
    } else if (ratios.some(({ verdict }) => verdict === 'regression')) {
      note(
        'Slower than the baseline, beyond the noise of both runs: see VERDICT. If that is intended: --update-baseline',
      )
      process.exitCode = 1
    }
    if (latency.some(isTooManyTrips)) {
      note('A situation needs more sequential round trips than its target: see TRIPS.')
      process.exitCode = 1
    }
  } finally {
    await bench.stop()
  }
}
