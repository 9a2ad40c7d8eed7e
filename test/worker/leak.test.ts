// What the Worker answers after the commands for a leak.
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type Credentials } from '../../src/ops/core/partners/partner-accounts.ts'
import { d1Down } from '../support/unreliable-stores.ts'
import { breakD1 } from './support/broken-bindings.ts'
import { startNewIsolate } from './support/isolate.ts'
import { basic, fetchToken, requestPlans, requestToken } from './support/requests.ts'
import { createChanges } from '../ops/support/partner-changes.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { openBindingStore, withoutDatabase } from '../ops/support/binding-store.ts'

beforeEach(async () => {
  warnings.splice(0)
  await emptyDatabase(env)
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  startNewIsolate()
})

const warnings: string[] = []
const listening = {
  attribution: { actor: 'amina@example.com', command: 'test', note: null },
  warn: (warning: string) => void warnings.push(warning),
}
const store = openBindingStore(env, {}, { PBKDF2_ITERATIONS: 1000 })
const storeWithoutDatabase = withoutDatabase(store)
const { create, change, set, rotate, replaceAll, replaceNewest, lockDown } = createChanges(store, listening)

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
  expect(await signIn(old)).toBe('401 invalid_client')
  expect(await list(token)).toBe('401 invalid_token')
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

// One second less than the promise: D1's clock goes on between two steps.
test.each([58, -58])(
  'where the clock is %i s ahead, a token ends with a lockdown, and the next one works at once',
  async (s) => {
    const credentials = await create()
    const shiftClock = (seconds: number) => vi.setSystemTime(vi.getRealSystemTime() + seconds * 1000)
    shiftClock(s)
    const token = await fetchToken(credentials)
    const renewed = await lockDown()
    for (const seconds of [s, 0]) {
      shiftClock(seconds)
      startNewIsolate()
      expect(await list(token)).toBe('401 invalid_token')
      shiftClock(seconds)
      expect(await list(await fetchToken(renewed))).toBe('200')
    }
  },
)

test('where the clock is behind, a secret ends at its time', async () => {
  const credentials = await create()
  await env.DB.prepare(`update change_record set secrets = json_set(secrets, '$[0].expiresAt', unixepoch() - 1)`).run()
  vi.setSystemTime(Date.now() - 59_000)
  expect(await signIn(credentials)).toBe('401 invalid_client')
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

describe('while D1 fails, an isolate that asked D1 before', () => {
  const suspend = () => change('suspend')
  const resume = () => change('resume')
  const move = () => set({ country: 'UG' })
  const rotateSlowly = () => rotate(86_400)
  const endTokens = () => change('end-tokens')
  /** Commands that only change D1's row: they fail while it does. */
  const renaming = () => set({ name: 'Acme Pay' })

  let token = ''
  /** What the isolate answers to the secret and the token of before, some minutes after the commands. */
  async function readAnswersAfter(commands: (() => Promise<unknown>)[], inOutage: (() => Promise<unknown>)[] = []) {
    const old = await create()
    token = await fetchToken(old)
    expect(await list(token)).toBe('200')
    for (const command of commands) await command()
    breakD1(d1Down)
    for (const command of inOutage) await expect(command()).rejects.toThrow('D1 is down')
    vi.setSystemTime(Date.now() + 181_000)
    return { signIn: await signIn(old), list: await list(token) }
  }

  const refused = { signIn: '503 unavailable', list: '503 unavailable' }
  test.each<[string, (() => Promise<unknown>)[]]>([
    ['suspend, set', [suspend, move]],
    ['lockdown, rotate', [lockDown, rotateSlowly]],
    ['suspend, lockdown, resume', [suspend, lockDown, resume]],
    ['lockdown, suspend, resume, set', [lockDown, suspend, resume, move]],
    ['end-tokens, set, rotate', [endTokens, renaming, rotateSlowly]],
    ['replace all, suspend, resume', [replaceAll, suspend, resume]],
    ['rotate, replace the newest, set', [rotateSlowly, replaceNewest, renaming]],
    ['end', [() => change('end')]],
  ])('lets nobody in after %s', async (_, commands) => {
    expect(await readAnswersAfter(commands)).toEqual(refused)
  })

  test.each<[string, (() => Promise<unknown>)[]]>([
    ['suspend, resume, set', [suspend, resume, renaming]],
    ['rotate', [rotateSlowly]],
    ['set', [renaming]],
  ])('lets the partner in after %s', async (_, commands) => {
    expect(await readAnswersAfter(commands)).toEqual({ signIn: '200', list: '200' })
  })

  const outage = createChanges(store, listening)
  const suspendNow = () => outage.change('suspend', storeWithoutDatabase)
  const resumeNow = () => outage.change('resume', storeWithoutDatabase)
  const lockDownNow = () => outage.lockDown(storeWithoutDatabase)
  test.each<[string, (() => Promise<unknown>)[], (() => Promise<unknown>)[]]>([
    ['suspend', [], [suspendNow]],
    ['lockdown, suspend, resume', [], [lockDownNow, suspendNow, resumeNow]],
    ['an earlier suspension, resume', [suspend], [resumeNow]],
    ['an earlier rotation, suspend', [rotateSlowly], [suspendNow]],
    ['an earlier suspension and resumption, suspend', [suspend, resume], [suspendNow]],
  ])('lets nobody in after commands in the outage: %s', async (_, commands, inOutage) => {
    expect(await readAnswersAfter(commands, inOutage)).toEqual(refused)
  })

  test('answers 503 after suspend and resume when it knows only the suspension: programs stop at a 401', async () => {
    const seeSuspension = async () => {
      vi.setSystemTime(Date.now() + 121_000)
      for (const _ of ['used, and renewed after the response', 'new']) await list(token)
      expect(await list(token)).toBe('401 invalid_token')
    }
    expect(await readAnswersAfter([suspend, seeSuspension, resume])).toEqual(refused)
  })

  test('answers 503 after a suspension in the outage, and resume as well, which says so', async () => {
    expect(await readAnswersAfter([], [suspendNow, resumeNow])).toEqual(refused)
    expect(warnings.at(-1)).toContain('acme may stay suspended until it does.')
  })
})

test('a partner whose name and contact change keeps its copy: it lists and signs in while D1 fails, also in a new isolate', async () => {
  const credentials = await create()
  vi.setSystemTime(Date.now() + 62_000)
  const token = await fetchToken(credentials)
  expect(await list(token)).toBe('200')
  await set({ name: 'Acme Pay', contact: 'amina@acme.example' })
  startNewIsolate()
  breakD1(d1Down)
  expect(await list(token)).toBe('200')
  expect(await signIn(credentials)).toBe('200')
})

test('a lockdown while the database fails ends access in about three minutes, also in isolates that knew the partner', async () => {
  const credentials = await create()
  const token = await fetchToken(credentials)
  expect(await list(token)).toBe('200')
  breakD1(d1Down)
  await expect(lockDown(storeWithoutDatabase)).rejects.toThrow('D1 is down')
  expect(warnings).toEqual([expect.stringContaining('acme is marked in the cache')])
  vi.setSystemTime(Date.now() + 181_000)
  for (const _ of ['an isolate that knew the partner', 'a new one']) {
    expect(await list(token)).toBe('503 unavailable')
    expect(await signIn(credentials)).toBe('503 unavailable')
    startNewIsolate()
  }
  vi.restoreAllMocks()
  expect(await list(token)).toBe('200')
  expect(await signIn(credentials)).toBe('200')
})
