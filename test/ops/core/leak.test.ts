// What the Worker answers after the commands for a leak.
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { partnerKeyPrefix } from '../../../src/api/cache-keys.ts'
import { findOpenPartner, type Credentials } from '../../../src/ops/core/partner-accounts.ts'
import { staleIfErrorMs } from '../../../src/worker/cache/freshness.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { basic, fetchToken, requestPlans, requestToken } from '../../worker/support/requests.ts'
import { emptyStores } from '../support/full-database.ts'
import { createChanges } from '../support/partner-changes.ts'
import { storeWithoutDatabase } from '../support/worker-store.ts'

beforeEach(emptyStores)

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

test('a command finds the copy that the Worker wrote by its short name, while the database fails', async () => {
  await fetchToken(await create())
  const listCopies = async () => (await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })).keys
  expect(await listCopies()).toMatchObject([{ metadata: { shortName: 'acme' } }])
  const warnings: string[] = []
  const attempt = findOpenPartner(storeWithoutDatabase, 'acme', (warning) => warnings.push(warning))
  await expect(attempt).rejects.toThrow('D1 is down')
  expect(warnings).toEqual([expect.stringContaining(` for up to ${staleIfErrorMs / 3600_000} hours. `)])
  expect(await listCopies()).toEqual([])
})
