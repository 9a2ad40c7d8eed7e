import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { replaceSecrets } from '../../../../src/ops/core/partners/account-changes.ts'
import {
  createPartner,
  requirePartner,
  isRotationDue,
  listPartners,
  storeContact,
} from '../../../../src/ops/core/partners/partner-accounts.ts'
import { formatIsoTime } from '../../../../src/ops/shared/iso-time.ts'
import { explainPartner } from '../../../../src/ops/core/partners/partner-explanation.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import { CloudflareError, isUncertain } from '../../../../src/ops/store/failure.ts'
import { selectStoredSecrets } from '../../../../src/db/partner-queries.ts'
import { getPartnerKey, getPlanListKey, maxReplicaLagMs, partnerKeyPrefix } from '../../../../src/api/cache-keys.ts'
import { acme, createChanges } from '../../support/partner-changes.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { listKeysAfter } from '../../support/test-database.ts'
import {
  attribution,
  emptyStores,
  env,
  interceptChanges,
  interruptedStore,
  operator,
  store,
  storeWithoutCache,
  storeWithoutDatabase,
} from '../../support/memory-store.ts'
import { interceptD1 } from '../../../support/unreliable-stores.ts'

const hour = 3600
const secretPattern = /^pcs_\w{36}$/

beforeEach(emptyStores)

const { create, find, listSecrets, change, set, rotate } = createChanges(store, operator)
/** D1's clock, which decides every time. */
const readSeconds = async () => (await env.DB.prepare('select unixepoch() as now').first<number>('now')) ?? 0
/** Sets columns of every row. */
const setRows = (values: string) => env.DB.prepare(`update change_record set ${values}`).run()
const endOldest = () => setRows(`secrets = json_set(secrets, '$[0].expiresAt', unixepoch())`)
/** @returns whether the copy of a new partner in KV outlives what `work` does. */
const keepsCopy = async (work: () => Promise<unknown>, clientId?: string) => {
  const key = getPartnerKey(clientId ?? (await create()).clientId)
  return (await listKeysAfter(env.CATALOG_CACHE, [key], work)).includes(key)
}

describe('createPartner', () => {
  test('returns the credentials and stores only a hash', async () => {
    const startedAt = await readSeconds()
    const { clientId, clientSecret, ...rest } = await createPartner({ ...store, config: {} }, acme, attribution)
    expect(rest).toEqual({ shortName: 'acme', country: 'KE' })
    expect(clientId).toMatch(/^\w{16}$/)
    expect(clientSecret).toMatch(secretPattern)
    const partner = await find()
    expect(partner).toMatchObject({ ...acme, clientId, suspendedAt: null })
    expect(partner.createdAt).toBeGreaterThanOrEqual(startedAt)
    expect(partner.createdAt).toBeLessThanOrEqual(await readSeconds())
    expect(await selectStoredSecrets(store.db)).toMatchObject([
      { expiresAt: null, hash: expect.stringMatching(/^\$pbkdf2-sha256\$i=100000\$/) },
    ])
  })

  test.each([
    ...['a', 'acme-', 'a'.repeat(33)].map((shortName) => [{ shortName }, 'The short name'] as const),
    ...['a'.repeat(201), 'red\u001b[31m', 'two\nlines', '\u200b\u200d', '\u3164\u2800', 'C1\u0085'].map(
      (name) => [{ name }, 'The name'] as const,
    ),
    [{ country: 'XX' }, 'The country'] as const,
    [{ contact: 'two\nlines' }, 'The contact'] as const,
  ])('refuses %j', async (overrides, subject) => {
    await expect(create(overrides)).rejects.toThrow(new RegExp(`^${subject} must be [^\\n]*$`))
    expect(await listPartners(store)).toEqual([])
  })

  test('finds the partner by its client ID, without a contact until that is stored', async () => {
    const { clientId } = await createPartner(store, { ...acme, contact: 'a' }, attribution)
    expect(await requirePartner(store, clientId)).toMatchObject({ shortName: 'acme', contact: null })
    await storeContact(store, 'acme', 'a')
    expect(await find()).toMatchObject({ contact: 'a' })
  })
})

test('listPartners sorts by short name, with the live secrets, the oldest first', async () => {
  await create({ shortName: 'boda' })
  await create()
  await rotate(hour)
  await setRows(`secrets = json_set(secrets, '$[0].createdAt', 100)`)
  const [oldest, newest] = await listSecrets()
  expect(oldest?.createdAt).toBe(100)
  expect(newest?.expiresAt).toBeNull()
  const read = async () => (await listPartners(store)).map(({ shortName, secrets }) => ({ shortName, secrets }))
  const boda = { shortName: 'boda', secrets: [{ createdAt: 100, expiresAt: null }] }
  expect(await read()).toEqual([{ shortName: 'acme', secrets: [oldest, newest] }, boda])
  await setRows(`secrets = json_set(secrets, '$[0].expiresAt', unixepoch()) where partner = 'acme'`)
  expect(await read()).toEqual([{ shortName: 'acme', secrets: [newest] }, boda])
  await change('end')
  expect(await read()).toEqual([{ shortName: 'acme', secrets: [] }, boda])
})

test('a rotation works again when an earlier grace period has ended', async () => {
  await create()
  await rotate(hour)
  const [, second] = await listSecrets()
  await endOldest()
  expect(await listSecrets()).toEqual([second])
  const { secretEndedAt } = await find()
  expect(secretEndedAt).toBeGreaterThan(0)
  expect(await explainPartner(store, await find())).toContain(
    `The previous secret ended at ${formatIsoTime(secretEndedAt ?? 0)}, and gets 401 invalid_client.`,
  )
  await rotate(hour)
  const createdAt = second?.createdAt ?? 0
  expect(await listSecrets()).toMatchObject([{ createdAt, expiresAt: expect.any(Number) }, { expiresAt: null }])
})

test('a lockdown returns the secret after the mark, and says before that the mark is coming', async () => {
  await create()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const said: string[] = []
  const events: string[] = []
  const putKeys = () => (events.push(...said), answer)
  const replaced = replaceSecrets(
    { ...store, putKeys },
    'acme',
    { kind: 'lockdown' },
    {
      attribution,
      warn: (text) => void said.push(text),
    },
  )
  await vi.waitFor(() => expect(events).toEqual(['acme has a new secret. Updating the cache …']))
  expect(await Promise.race([replaced, Promise.resolve('no secret')])).toBe('no secret')
  resolve()
  const { credentials, tokensValidFrom } = await replaced
  expect(credentials.clientSecret).toMatch(secretPattern)
  expect(tokensValidFrom).toEqual(expect.any(Number))
})

test('suspend and resume change the partner, and delete its cached copy', async () => {
  const { clientId } = await create()
  const others = [getPartnerKey('other'), getPlanListKey('KE', {})]
  const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId), ...others], async () => {
    expect((await change('suspend')).suspendedAt).not.toBeNull()
  })
  expect(left).toEqual(others)
  // A suspension keeps its time.
  await setRows('suspended_at = 5')
  expect((await change('suspend')).suspendedAt).toBe(5)
  expect((await change('resume')).suspendedAt).toBeNull()
})

test('end keeps the time of an earlier suspension', async () => {
  await create()
  await change('suspend')
  await setRows('suspended_at = 5')
  expect((await change('end')).suspendedAt).toBe(5)
})

test('a rotation is due when the oldest secret is more than a year old', () => {
  const yearMs = 365 * 86_400_000
  const secrets = [1000, 9e12].map((createdAt) => ({ createdAt, expiresAt: null }))
  expect(isRotationDue({ secrets }, 1_000_000 + yearMs)).toBe(false)
  expect(isRotationDue({ secrets }, 1_000_001 + yearMs)).toBe(true)
  expect(isRotationDue({ secrets: [] }, 1e15)).toBe(false)
})

describe('the cached copy of a partner', () => {
  const warnings: string[] = []
  const listening = { attribution, warn: (warning: string) => warnings.push(warning) }
  const suspendOn = (on: typeof store) => createChanges(store, listening).change('suspend', on)
  const failed = 'The database did not answer.'
  const ended =
    'acme is marked in the cache: the partner loses access within three minutes, except where the database answers the Worker.'
  const again = 'When the database answers, run the command again.'
  const readEntry = async (clientId: string) =>
    (await env.CATALOG_CACHE.getWithMetadata(getPartnerKey(clientId))).metadata
  afterEach(() => void vi.useRealTimers())
  beforeEach(async () => {
    warnings.splice(0)
    store.changes.isMarked = false
    for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  })

  test.each([
    ['stays', 'has', 0],
    ['is deleted', 'may lack', -1],
  ])('%s when there is nothing to change and it %s the newest change', async (_, __, ms) => {
    const { clientId } = await create()
    const key = getPartnerKey(clientId)
    const checkedAtMs = ((await find()).createdAt + 1) * 1000 + maxReplicaLagMs + ms
    await env.CATALOG_CACHE.put(key, '{}', { metadata: { shortName: 'acme', checkedAtMs, mac: '' } })
    await change('resume')
    await set({ country: 'KE' })
    // The copy has neither.
    await set({ name: 'Acme Pay', contact: 'amina@acme.example' })
    expect(await readEntry(clientId)).toMatchObject(ms === 0 ? { checkedAtMs } : { endedAtMs: 0 })
    await change('end-tokens')
    expect((await env.CATALOG_CACHE.getWithMetadata(key)).metadata).not.toMatchObject({ checkedAtMs })
  })

  test('is ended as of D1’s clock, whatever the operator’s clock says, or without D1, of Cloudflare’s', async () => {
    const { clientId } = await create()
    vi.setSystemTime(Date.now() - 300_000)
    const { suspendedAt } = await change('suspend')
    const endedAtMs = ((suspendedAt ?? 0) + 1) * 1000
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs })
    const askServerTimeMs = async () => endedAtMs + 7000
    await expect(suspendOn({ ...storeWithoutDatabase, askServerTimeMs })).rejects.toThrow('D1 is down')
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: endedAtMs + 7000 })
  })

  test('stays ended by a lockdown that overtakes a resumption', async () => {
    const { clientId } = await create()
    await change('suspend')
    let isOvertaken = false
    const overtaken: Store = {
      ...store,
      putKeys: async (...mark) => {
        if (!isOvertaken) await createChanges(store, listening).lockDown()
        isOvertaken = true
        await store.putKeys(...mark)
      },
    }
    await createChanges(store, operator).change('resume', overtaken)
    const { tokensValidFrom } = await find()
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: (tokensValidFrom ?? 0) * 1000 })
  })

  test.each<[string, () => Promise<unknown>]>([
    ['resume', () => change('resume')],
    ['set', () => set({ country: 'UG' })],
    ['rotate', () => rotate(hour)],
  ])('becomes a mark that ends nothing after %s, so that a later command finds it', async (_, work) => {
    const { clientId } = await create()
    await work()
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: 0 })
    await expect(suspendOn(storeWithoutDatabase)).rejects.toThrow('D1 is down')
    expect(warnings).toEqual([`${failed} ${ended} ${again}`])
  })

  test('is ended as of the end of a secret whose grace period is over', async () => {
    const { clientId } = await create()
    await rotate(hour)
    await endOldest()
    await set({ name: 'Acme Pay' })
    const { secretEndedAt } = await find()
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: ((secretEndedAt ?? 0) + 1) * 1000 })
  })

  test('is ended when the write fails, because it may have taken effect', async () => {
    const failure = new CloudflareError('D1 hangs.', { kind: 'unknown' })
    const broken = interceptChanges(() => Promise.reject(failure))
    const isKept = await keepsCopy(() => expect(suspendOn(broken)).rejects.toSatisfy(isUncertain))
    expect(isKept).toBe(false)
    expect(warnings).toEqual([`${failed} ${ended} ${again}`])
  })

  test('is found by its short name while the database does not answer', async () => {
    const copies = { [getPartnerKey('a')]: 'acme', [getPartnerKey('b')]: 'boda', [getPartnerKey('c')]: 'acme' }
    for (const [key, shortName] of Object.entries(copies)) {
      await env.CATALOG_CACHE.put(key, '{}', { metadata: { shortName, checkedAtMs: 1, mac: '' } })
    }
    await env.CATALOG_CACHE.put(getPartnerKey('d'), 'no metadata')
    await expect(suspendOn(storeWithoutDatabase)).rejects.toThrow('D1 is down')
    const { keys } = await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })
    const mark = { shortName: 'acme', endedAtMs: expect.any(Number) }
    expect(keys.map(({ metadata }) => metadata)).toMatchObject([mark, { shortName: 'boda' }, mark, undefined])
    await expect(createChanges(store, listening).change('resume', storeWithoutDatabase)).rejects.toThrow('D1 is down')
    expect((await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })).keys).toEqual(keys)
    const resumed = `${failed} acme may stay suspended until it does. ${again}`
    expect(warnings).toEqual([`${failed} ${ended} ${again}`, resumed])
  })

  test('that nothing has needs no mark: the partner gets nothing while the database fails', async () => {
    await expect(suspendOn(storeWithoutDatabase)).rejects.toThrow('D1 is down')
    const { keys } = await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })
    expect(keys).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('The cache has no entry named "acme".')])
  })

  test('stays when the database refuses the change, such as a token without the right to write', async () => {
    const refusing = interceptChanges(() => Promise.reject(new CloudflareError('Cloudflare answered 403.')))
    const refused = () => expect(suspendOn(refusing)).rejects.toThrow('Failed query')
    expect(await keepsCopy(refused)).toBe(true)
    expect(warnings).toEqual([])
  })

  test('is marked as the record says when the change is refused after an early mark', async () => {
    const { clientId } = await create()
    await env.CATALOG_CACHE.put(getPartnerKey(clientId), '{}', { metadata: { shortName: 'acme' } })
    const isMarked = Promise.withResolvers<void>()
    const putKeys: Store['putKeys'] = async (...mark) => {
      await store.putKeys(...mark)
      isMarked.resolve()
    }
    // A colleague's change comes first while this one hangs.
    const { db } = interruptedStore(async () => {
      await set({ country: 'UG' })
      await isMarked.promise
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const failure = suspendOn({ ...store, db, putKeys }).catch(String)
    await vi.advanceTimersByTimeAsync(5000)
    expect(await failure).toContain('Somebody else changed acme')
    expect(warnings).toEqual([`${ended} Waiting for the database …`])
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: 0 })
  })

  test('is not called marked when a slow database does not know the partner', async () => {
    const answer = Promise.withResolvers<void>()
    const slow = interceptD1(env.DB, (call) => answer.promise.then(call))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const failure = suspendOn({ ...store, db: openOperatorDatabase(slow), changes: { outcome: 'unchanged' } }).catch(
      String,
    )
    await vi.advanceTimersByTimeAsync(5000)
    vi.useRealTimers()
    await vi.waitFor(() => expect(warnings).toHaveLength(1))
    answer.resolve()
    expect(await failure).toContain('There is no partner "acme".')
    expect(warnings).toEqual([expect.stringContaining('The cache has no entry named "acme".')])
  })

  test('is marked after a move, although the database fails before the contact is stored', async () => {
    const { clientId } = await create()
    // The copy has all earlier changes. It has the old country all the same.
    const metadata = { shortName: 'acme', checkedAtMs: Date.now() + 100_000 }
    await env.CATALOG_CACHE.put(getPartnerKey(clientId), '{}', { metadata })
    const failing = interceptD1(env.DB, (call, { sql }) =>
      sql.includes('insert into "partner_contacts"') ? Promise.reject(new Error('D1 is down')) : call(),
    )
    const on = { ...store, db: openOperatorDatabase(failing) }
    await expect(set({ country: 'UG', contact: 'amina@acme.example' }, on)).rejects.toThrow('Failed query')
    expect(await readEntry(clientId)).toEqual({ shortName: 'acme', endedAtMs: 0 })
  })

  test('is not called unmarked when the database fails after the mark', async () => {
    const { clientId } = await create()
    let isMarked = false
    const failing = interceptD1(env.DB, (call) => (isMarked ? Promise.reject(new Error('D1 is down')) : call()))
    const putKeys: Store['putKeys'] = async (...mark) => {
      await store.putKeys(...mark)
      isMarked = true
    }
    const on: Store = { ...store, db: openOperatorDatabase(failing), putKeys }
    const { credentials } = await replaceSecrets(on, 'acme', { kind: 'lockdown' }, listening)
    expect(credentials.clientSecret).toMatch(secretPattern)
    expect(await readEntry(clientId)).toMatchObject({ endedAtMs: expect.any(Number) })
    expect(warnings.slice(1)).toEqual([
      expect.stringMatching(
        /^The change was made, and marked in the cache\. .*: npm run -s ops -- partner lockdown acme --tokens-only$/,
      ),
    ])
  })

  test('is ended after 5 s while the database does not answer, and again when that has changed', async () => {
    await env.CATALOG_CACHE.put(getPartnerKey('a'), '{}', { metadata: { shortName: 'acme' } })
    const answer = Promise.withResolvers<never>()
    const hanging: Store = { ...store, db: openOperatorDatabase(interceptD1(env.DB, () => answer.promise)) }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const failure = suspendOn(hanging).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(4999)
    expect(warnings).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    await vi.waitFor(() => expect(warnings).toEqual([`${ended} Waiting for the database …`]))
    answer.reject(new Error('D1 is down'))
    expect(await failure).toMatchObject({ cause: { message: 'D1 is down' } })
    expect(warnings.slice(1)).toEqual([`${failed} ${ended} ${again}`])
  })

  test('stays when the change is refused, or fails and ends no access', async () => {
    const { clientId } = await create()
    await rotate(hour)
    const refusals = async () => {
      await expect(rotate(hour)).rejects.toThrow(UserError)
      await expect(set({ country: 'x' })).rejects.toThrow(UserError)
      await expect(set({ country: 'UG' }, storeWithoutDatabase)).rejects.toThrow('D1 is down')
    }
    expect(await keepsCopy(refusals, clientId)).toBe(true)
    await change('end')
    const suspension = () => expect(change('suspend')).rejects.toThrow(/^acme was ended at /)
    expect(await keepsCopy(suspension, clientId)).toBe(true)
  })

  test('is not mentioned when a change is refused while the cache fails', async () => {
    await create()
    await rotate(hour)
    await expect(rotate(hour, storeWithoutCache)).rejects.toThrow(/^acme has two live secrets, /)
  })

  test('is reported when neither the database nor the cache answers', async () => {
    const { listKeys, putKeys } = storeWithoutCache
    await expect(suspendOn({ ...storeWithoutDatabase, listKeys, putKeys })).rejects.toThrow('D1 is down')
    expect(warnings).toEqual([`${failed} The cache could not be marked: KV is down. ${again}`])
  })

  test.each<[string, (on: Store) => Promise<unknown>, RegExp]>([
    ['suspend', suspendOn, /30 hours\. Run the command again\.$/],
    // A repetition would end the secret that it made.
    ['lockdown', (on) => createChanges(store, listening).lockDown(on), /partner lockdown acme --tokens-only$/],
    ['rotate', (on) => createChanges(store, listening).rotate(hour, on), /30 hours\.$/],
  ])('is only a warning when it can’t be marked after %s', async (_, work, fix) => {
    const before = (await create(), await find())
    await work(storeWithoutCache)
    expect(warnings.at(-1)).toMatch(/^The cache could not be marked: KV is down\. The change was made/)
    expect(warnings.at(-1)).toMatch(fix)
    expect((await find()).id).toBeGreaterThan(before.id)
  })
})
