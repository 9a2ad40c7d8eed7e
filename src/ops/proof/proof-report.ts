// The report of a proof, in Markdown: a summary for a manager, then tables, then each step.
import { formatIsoTime } from '../core/iso-time.ts'
import type { Finding } from './experiment.ts'
import { findPercentile, type Series } from './measurements.ts'
import { describeDeletion, type Made } from './proof-account.ts'
import type { Results } from './run-proof.ts'
import { formatWait } from './service-experiments.ts'

export interface Proof extends Results {
  env: string
  startedAtMs: number
  endedAtMs: number
  /** The host of the API, such as api.cloudflare.com. */
  api: string
  /** Why the run did not complete. */
  problem: string | undefined
  /** What could not be deleted. */
  left: readonly Made[]
}

export function formatReport(proof: Proof): string {
  const { startedAtMs, findings, series, waits, headers, steps, location } = proof
  const place = location === undefined ? 'no location of Cloudflare' : `answered by Cloudflare’s location ${location}`
  return [
    `# Proof of ${formatIsoTime(Math.floor(startedAtMs / 1000)).slice(0, 10)}`,
    formatSummary(proof),
    '## Speed',
    `Measured from the machine that ran the proof, ${place}, in milliseconds, one request after the other: the p99 of 50 is the slowest. “New version”: an isolate that has just started.`,
    formatTable(['request', 'requests', 'p50', 'p99', 'other answers'], series.map(formatSeries)),
    '## Changes',
    waits.map((wait) => `- ${formatWait(wait)}`).join('\n') || 'None was made.',
    '## Headers of a list',
    formatTable(['header', 'value'], headers),
    '## Assumptions',
    formatTable(
      ['assumption', 'source', 'result', 'found'],
      findings.map(({ assumption, source, verdict, found }) => [assumption, source, verdict, found]),
    ),
    '## Steps',
    formatTable(
      ['step', 'seconds', 'result'],
      steps.map(({ title, seconds, problem }) => [title, seconds.toFixed(1), problem ?? 'done']),
    ),
  ]
    .join('\n\n')
    .concat('\n')
}

function formatSummary(proof: Proof): string {
  const { env, startedAtMs, endedAtMs, api, problem, steps, findings, series, left } = proof
  const [from, to] = [startedAtMs, endedAtMs].map((ms) => formatIsoTime(Math.floor(ms / 1000)))
  const count = (verdict: Finding['verdict']) => findings.filter((finding) => finding.verdict === verdict)
  const [differing, failed] = [count('differs'), count('failed')]
  const done = steps.filter((step) => step.problem === undefined).length
  const isReal = api === 'api.cloudflare.com'
  const isComplete = problem === undefined && failed.length === 0
  const result = isComplete
    ? `The service was provisioned, deployed, measured, rolled back and restored in the environment ${env}.`
    : problem === undefined
      ? `Every step is done, but ${failed.length} experiments failed.`
      : `${done} steps were done. Then: ${putOnOneLine(problem)}`
  return [
    `- **The proof is ${isComplete ? '' : 'not '}complete.** ${result}`,
    `- It ran from ${from} to ${to} against ${isReal ? 'Cloudflare' : `${api}, which is **not Cloudflare**`}.`,
    `- Assumptions: ${count('as assumed').length} hold, ${differing.length} differ, ${count('answered').length} open questions are answered, ${failed.length} experiments failed, ${count('not tried').length} were not tried.`,
    ...series.filter(({ what }) => /^(token|list), warm$/.test(what)).map((one) => `- ${formatFigures(one)}`),
    ...differing.map(({ assumption, found }) => `- **Differs:** ${assumption} Found: ${putOnOneLine(found)}`),
    ...failed.map(({ assumption, found }) => `- **Failed:** the experiment for: ${assumption} ${putOnOneLine(found)}`),
    left.length === 0
      ? '- Everything that it made is deleted. Analytics Engine keeps its data points for three months.'
      : '- **Not deleted.** Delete it by hand:',
    ...left.map((one) => `  - the ${one.kind} ${one.name}: \`${describeDeletion(one)}\``),
  ].join('\n')
}

const formatPercentiles = ({ ms }: Series) => [50, 99].map((percent) => findPercentile(ms, percent)?.toFixed(0) ?? '–')

function formatFigures(series: Series): string {
  const { what, ms, failures } = series
  const [p50, p99] = formatPercentiles(series)
  const answered = failures.length > 0 ? `${ms.length} of ${ms.length + failures.length} answered; of these, ` : ''
  return `From this machine, ${what}: ${answered}half of the requests within ${p50} ms, 99 % within ${p99} ms.`
}

function formatSeries(series: Series): string[] {
  const { what, ms, failures } = series
  return [what, String(ms.length + failures.length), ...formatPercentiles(series), failures.join(', ') || 'none']
}

function formatTable(names: readonly string[], rows: readonly (readonly string[])[]): string {
  return [names, names.map(() => '---'), ...rows].map((cells) => `| ${cells.map(formatCell).join(' | ')} |`).join('\n')
}

const formatCell = (text: string) => putOnOneLine(text).replaceAll('|', String.raw`\|`)

const putOnOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
