import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { assumptions } from '../../../src/ops/proof/assumptions.ts'
import { formatReport, type Proof } from '../../../src/ops/proof/proof-report.ts'

const batch = { assumption: 'A batch is a transaction.', source: 'not | documented', experiment: 'A batch.' }
const proof: Proof = {
  env: 'proof',
  startedAtMs: Date.parse('2026-11-23T10:00:00Z'),
  endedAtMs: Date.parse('2026-11-23T10:08:20Z'),
  api: 'api.cloudflare.com',
  problem: undefined,
  left: [],
  location: 'NBO',
  steps: [{ title: 'Deploy', seconds: 12.34, problem: undefined }],
  findings: [
    { ...batch, verdict: 'as assumed', found: 'It is.' },
    { ...batch, verdict: 'differs', found: 'It is\nnot.' },
  ],
  series: [{ what: 'list, warm', ms: [10, 20], failures: [429] }],
  waits: [
    { what: 'publish', firstMs: 1000, settledMs: 61_000, boundMs: 180_000 },
    { what: 'suspend', firstMs: undefined, settledMs: undefined, boundMs: 180_000 },
  ],
  headers: [['ETag', '"x"']],
}

test('the report begins with a summary, and has every figure', () => {
  expect(formatReport(proof)).toBe(`# Proof of 2026-11-23

- **The proof is complete.** The service was provisioned, deployed, measured, rolled back and restored in the environment proof.
- It ran from 2026-11-23T10:00:00Z to 2026-11-23T10:08:20Z against Cloudflare.
- Assumptions: 1 hold, 1 differ, 0 open questions are answered, 0 experiments failed, 0 were not tried.
- From this machine, list, warm: 2 of 3 answered; of these, half of the requests within 10 ms, 99 % within 20 ms.
- **Differs:** A batch is a transaction. Found: It is not.
- Everything that it made is deleted. Analytics Engine keeps its data points for three months.

## Speed

Measured from the machine that ran the proof, answered by Cloudflare’s location NBO, in milliseconds, one request after the other: the p99 of 50 is the slowest. “New version”: an isolate that has just started.

| request | requests | p50 | p99 | other answers |
| --- | --- | --- | --- | --- |
| list, warm | 3 | 10 | 20 | 429 |

## Changes

- publish: first after 1.0 s, in every answer after 61.0 s.
- suspend: not within 180.0 s.

## Headers of a list

| header | value |
| --- | --- |
| ETag | "x" |

## Assumptions

| assumption | source | result | found |
| --- | --- | --- | --- |
| A batch is a transaction. | not \\| documented | as assumed | It is. |
| A batch is a transaction. | not \\| documented | differs | It is not. |

## Steps

| step | seconds | result |
| --- | --- | --- |
| Deploy | 12.3 | done |
`)
})

test('the summary of a failure says why, what is left, and that another API is not Cloudflare', () => {
  const report = formatReport({
    ...proof,
    api: '127.0.0.1:80',
    problem: 'It was interrupted.',
    left: [{ kind: 'database', name: 'catalog-proof', id: '1' }],
  })
  expect(report).toContain('**The proof is not complete.** 1 steps were done. Then: It was interrupted.')
  expect(report).toContain('against 127.0.0.1:80, which is **not Cloudflare**.')
  expect(report).toContain('  - the database catalog-proof: `npx wrangler d1 delete catalog-proof --skip-confirmation`')
  expect(report).not.toContain('Everything that it made is deleted')
})

test('a proof whose experiment failed is not complete, and names it', () => {
  const report = formatReport({
    ...proof,
    findings: [{ ...batch, verdict: 'failed', found: 'Cloudflare answered 500.' }],
  })
  expect(report).toContain('**The proof is not complete.** Every step is done, but 1 experiments failed.')
  expect(report).toContain('- **Failed:** the experiment for: A batch is a transaction. Cloudflare answered 500.')
})

test('DEPLOY.md ends with the table of all assumptions', () => {
  const page = readFileSync('src/worker/DEPLOY.md', 'utf8')
  const [, , ...rows] = page.slice(page.lastIndexOf('\n\n')).trim().split('\n')
  const cells = rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  expect(cells).toEqual(assumptions.map(({ assumption, source, experiment }) => [assumption, source, experiment]))
})
