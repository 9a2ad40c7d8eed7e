// What the Worker answers after the commands for a leak.
import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { changePartner, type Credentials } from '../../../src/ops/core/partner-accounts.ts'
import { d1Down } from '../../support/unreliable-stores.ts'
import { breakD1 } from '../../worker/support/broken-bindings.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { basic, fetchToken, requestPlans, requestToken } from '../../worker/support/requests.ts'
import { createChanges } from '../support/partner-changes.ts'
import { attribution, storeWithoutDatabase } from '../support/worker-store.ts'

beforeEach(async () => {
  await reset()
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const { create, change, lockDown } = createChanges()

async function readAnswer(answer: Promise<Response>): Promise<string> {
  const response = await answer
  const { error = '' } = await response.json<{ error?: string }>()
  return `${response.status} ${error}`.trim()
}
const signIn = ({ clientId, clientSecret }: Credentials) => readAnswer(requestToken(basic(clientId, clientSecret)))
const list = (token: string) => readAnswer(requestPlans({ shortName: 'acme', token }))

test('after a lockdown, the old secret and its tokens are refused, and the new secret and its tokens work at once', async () => {
  const old = await create()
  const token = await fetchToken(old)
  expect(await list(token)).toBe('200')
  const renewed = await lockDown()
  startNewIsolate()
  expect([await signIn(old), await list(token)]).toEqual(['401 invalid_client', '401 invalid_token'])
  expect(await list(await fetchToken(renewed))).toBe('200')
})

test('after end-tokens, the tokens are refused, and the same secret gets tokens that work at once', async () => {
  const credentials = await create()
  const token = await fetchToken(credentials)
  for (const _ of [1, 2]) await change('end-tokens')
  startNewIsolate()
  expect(await list(token)).toBe('401 invalid_token')
  const later = await fetchToken(credentials)
  expect(await list(later)).toBe('200')
  // The token may be of the same second.
  await change('end-tokens')
  startNewIsolate()
  expect(await list(later)).toBe('401 invalid_token')
})

test('a suspended partner stays suspended after a lockdown', async () => {
  await create()
  await change('suspend')
  const renewed = await lockDown()
  expect(await signIn(renewed)).toBe('401 invalid_client')
  await change('resume')
  startNewIsolate()
  expect(await signIn(renewed)).toBe('200')
})

test('a lockdown while the database fails ends access in about three minutes, also in isolates that knew the partner', async () => {
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {})
  const credentials = await create()
  const token = await fetchToken(credentials)
  expect(await list(token)).toBe('200')
  breakD1(d1Down)
  const warnings: string[] = []
  const warn = (warning: string) => warnings.push(warning)
  const attempt = changePartner(
    storeWithoutDatabase,
    'acme',
    { kind: 'lockdown', show: () => {} },
    { attribution, warn },
  )
  await expect(attempt).rejects.toThrow('D1 is down')
  expect(warnings).toEqual([expect.stringContaining('acme is marked in the cache')])
  vi.setSystemTime(Date.now() + 181_000)
  for (const _ of ['an isolate that knew the partner', 'a new one']) {
    expect([await list(token), await signIn(credentials)]).toEqual(['503 unavailable', '503 unavailable'])
    startNewIsolate()
  }
  vi.restoreAllMocks()
  expect([await list(token), await signIn(credentials)]).toEqual(['200', '200'])
})
