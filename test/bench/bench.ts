// npm run bench: compares the Worker as deployed with bare Workers, side by side in one workerd. README.md explains the figures.
import { parseArgs } from 'node:util'
import { formatTable } from '../../src/ops/terminal/table.ts'
import { withComparisons } from './comparisons.ts'
import { measureLatency } from './measure-latency.ts'
import { measureMemory } from './measure-memory.ts'
import { measureOutage } from './measure-outage.ts'
import { measureRatios } from './measure-ratios.ts'
import { buildBundle } from './service.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '31' },
    seconds: { type: 'string', default: '0.5' },
    only: { type: 'string', default: '' },
  },
})
const [rounds, seconds] = [Number(flags.rounds), Number(flags.seconds)]
const note = (text: string) => void process.stderr.write(`${text}\n`)
const print = (text: string) => void process.stdout.write(`${text}\n`)
function report({ rows, isMissed }: { rows: Record<string, string>[]; isMissed: boolean }): void {
  if (rows.length > 0) print(formatTable(rows))
  if (isMissed) process.exitCode = 1
}

const bundle = await buildBundle()
print(
  `Bundle ${(bundle.gzipBytes / 1024).toFixed(1)} KiB gzip, Node ${process.version}, ${rounds} rounds of ${seconds} s`,
)
const ratios = await withComparisons(bundle, (comparisons) => {
  const chosen = comparisons.filter(({ name }) => name.includes(flags.only))
  return measureRatios(chosen, rounds, seconds, note)
})
report(ratios)
if ('latency'.includes(flags.only)) report(await measureLatency(bundle, note))
if ('readers'.includes(flags.only)) report(await measureMemory(bundle, note))
if (flags.only === 'outage') report(await measureOutage(bundle, note))
