// npm run bench: compares the Worker as deployed with bare Workers, side by side in one workerd. README.md explains the figures.
import { parseArgs } from 'node:util'
import { formatLatency, formatMemory, formatOutage, formatRatios } from './bench-report.ts'
import { startBench } from './bench-setup.ts'
import { prepareComparisons } from './comparisons.ts'
import { isTooManyTrips, measureLatency } from './measure-latency.ts'
import { isTooMuchMemory, measureMemory } from './measure-memory.ts'
import { measureOutage } from './measure-outage.ts'
import { isMissed, measureRatios } from './measure-ratios.ts'
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

const bundle = await buildBundle()
print(
  `Bundle ${(bundle.gzipBytes / 1024).toFixed(1)} KiB gzip, Node ${process.version}, ${rounds} rounds of ${seconds} s`,
)
const bench = await startBench(bundle)
try {
  const comparisons = (await prepareComparisons(bench)).filter(({ name }) => name.includes(flags.only))
  const ratios = await measureRatios(comparisons, rounds, seconds, note)
  if (ratios.length > 0) print(formatRatios(ratios))
  if (ratios.some(isMissed)) process.exitCode = 1
} finally {
  await bench.stop()
}
if ('latency'.includes(flags.only)) {
  const latency = await measureLatency(bundle, note)
  print(formatLatency(latency))
  if (latency.some(isTooManyTrips)) process.exitCode = 1
}
if ('readers'.includes(flags.only)) {
  const memory = await measureMemory(bundle, note)
  print(formatMemory(memory))
  if (memory.some(isTooMuchMemory)) process.exitCode = 1
}
if (flags.only === 'outage') print(formatOutage(await measureOutage(bundle, note)))
