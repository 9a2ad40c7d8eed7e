import { expect, test } from 'vitest'
import { createSmokeCall, maxWaitSeconds } from '../../../../src/ops/core/service/smoke-call.ts'

const url = 'https://catalog.example.com/api/v3/partners/auth'
const wanted = { workerName: 'catalog', id: 'new' }

const from = (version: string) => Response.json({}, { headers: { 'X-Worker-Version': version } })
const silent = () => new Response('There is no such Worker.', { status: 404 })
const unreachable = () => {
  throw new TypeError('fetch failed')
}

/** @param answers the last repeats. */
function start(answers: (() => Response)[], { version }: { version?: typeof wanted } = { version: wanted }) {
  let nowMs = 1_000_000
  const overrides: (string | null)[] = []
  const send: typeof fetch = (_, init) => {
    overrides.push(new Headers(init?.headers).get('Cloudflare-Workers-Version-Overrides'))
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    return new Promise((resolve) => resolve(answer?.() ?? silent()))
  }
  const clock = { nowMs: () => nowMs, sleep: (ms: number) => Promise.resolve(void (nowMs += ms)) }
  const startMs = nowMs
  return { call: createSmokeCall(send, version, clock), overrides, getWaitedMs: () => nowMs - startMs }
}

test('each request is repeated until the wanted version answers it', async () => {
  const old = () => from('old')
  const { call, overrides } = start([unreachable, silent, old, () => from('new'), old, () => from('new')])
  await call(url)
  expect(overrides).toEqual(Array.from({ length: 4 }, () => 'catalog="new"'))
  await call(url)
  expect(overrides).toHaveLength(6)
})

test.each<[string, () => Response, string]>([
  ['another version', () => from('old'), 'version new should answer; after 120 s, version old answers'],
  ['no version', silent, 'version new should answer; after 120 s, an answer with status 404 has no version'],
  ['no answer', unreachable, 'fetch failed'],
])('all requests together wait for a bound: %s', async (_, answer, message) => {
  const { call, overrides, getWaitedMs } = start([answer])
  await expect(call(url)).rejects.toThrow(message)
  expect(Math.floor(getWaitedMs() / 1000)).toBe(maxWaitSeconds)
  const sent = overrides.length
  // The rate limit of an address.
  expect(sent / (maxWaitSeconds / 60)).toBeLessThan(100)
  await expect(call(url)).rejects.toThrow(message)
  expect(overrides).toHaveLength(sent + 1)
})

test('the site’s files come without a version', async () => {
  const { call, overrides } = start([() => new Response('<html>')])
  expect(await call('https://catalog.example.com/')).toMatchObject({ status: 200, json: undefined })
  expect(overrides).toHaveLength(1)
})

test('without a version, every answer counts, and nothing waits', async () => {
  const answers = [() => from('old'), unreachable]
  const { call, overrides, getWaitedMs } = start(answers, {})
  expect(await call(url)).toMatchObject({ status: 200, json: {} })
  await expect(call(url)).rejects.toThrow('fetch failed')
  expect({ overrides, waitedMs: getWaitedMs() }).toEqual({ overrides: [null, null], waitedMs: 0 })
})
