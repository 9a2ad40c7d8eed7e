// Measures real time, so it needs a machine that does nothing else.
import { expect, test } from 'vitest'
import { basic, requestToken } from '../support/requests.ts'
import { seedPartner } from '../support/seed.ts'

const rounds = 40
/** Allows a difference of 16 %. A sign-in that hashes the secret once instead of twice takes half the time. */
const maxMedianLogRatio = 0.15

test('an unknown client and a wrong secret get the same bytes after the same time', async () => {
  const known = await seedPartner('KE', 100_000)
  const requests = {
    unknown: basic('ABCDEFGHIJKLMNOP', 'A'.repeat(40)),
    wrong: basic(known.clientId, 'A'.repeat(40)),
  }
  const logRatios: number[] = []
  const answers = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const times = { unknown: 0, wrong: 0 }
    // Alternate the order and compare within a round: whatever slows the machine down slows both.
    for (const kind of round % 2 === 0 ? (['unknown', 'wrong'] as const) : (['wrong', 'unknown'] as const)) {
      const startedAtMs = performance.now()
      const response = await requestToken(requests[kind])
      times[kind] = performance.now() - startedAtMs
      const requestId = response.headers.get('X-Request-Id') ?? ''
      const answer = `${response.status} ${[...response.headers].join('; ')} ${await response.text()}`
      answers.add(answer.replaceAll(requestId, ''))
    }
    logRatios.push(Math.log(times.unknown / times.wrong))
  }
  const median = logRatios.toSorted((a, b) => a - b)[rounds / 2] ?? Number.NaN
  expect(answers.size).toBe(1)
  expect(Math.abs(median)).toBeLessThan(maxMedianLogRatio)
})
