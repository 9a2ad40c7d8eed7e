import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  changePartner,
  createPartner,
  findPartner,
  findPartnerToChange,
  listLiveSecrets,
  listPartners,
  lockDownPartner,
  type LockedDown,
  readPartnerStatus,
  replaceNewestSecret,
  rotateSecret,
  type NewPartner,
  type PartnerRequest,
  isRotationDue,
} from '../../../src/ops/core/partner-accounts.ts'
import { formatIsoTime } from '../../../src/ops/core/iso-time.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { CloudflareError } from '../../../src/ops/store/failure.ts'
import { findMatchingHash } from '../../../src/crypto/client-secret.ts'
import { selectPartnerCheck } from '../../../src/db/client-queries.ts'
import { getPartnerKey, getPlanListKey, partnerKeyPrefix } from '../../../src/api/cache-keys.ts'
import { emptyDatabase, interceptChanges, interruptFirstWrite, listKeysAfter } from '../support/test-database.ts'
import { attribution, operator, store, storeWithoutCache, storeWithoutDatabase } from '../support/worker-store.ts'

const hour = 3600
const acme: NewPartner = { shortName: 'acme', name: 'Acme "Wallet"', country: 'KE' }

beforeEach(() => emptyDatabase(env))

const create = (overrides: Partial<NewPartner> = {}) => createPartner(store, { ...acme, ...overrides }, attribution)
const find = () => findPartner(store, 'acme')
const request = (change: PartnerRequest) => changePartner(store, change, operator)
const change = (kind: 'suspend' | 'resume' | 'close' | 'end-tokens') => request({ kind, partner: 'acme' })
const move = (country: string) => request({ kind: 'set-country', partner: 'acme', country })
const rename = (name: string) => request({ kind: 'rename', partner: 'acme', name })
const setContact = (contact: string | null) => request({ kind: 'set-contact', partner: 'acme', contact })
const listSecrets = async () => listLiveSecrets(store, await find())
const rotate = async (graceSeconds: number) => rotateSecret(store, await find(), graceSeconds, operator)
const replaceNewest = async () => replaceNewestSecret(store, await find(), operator)
/** D1's clock, which decides every time. */
const readSeconds = async () => (await env.DB.prepare('select unixepoch() as now').first<number>('now')) ?? 0

describe('createPartner', () => {
  test('returns the credentials and stores only a hash', async () => {
    const startedAt = await readSeconds()
    const { clientId, clientSecret, ...rest } = await createPartner({ ...store, config: {} }, acme, attribution)
    expect(rest).toEqual({ shortName: 'acme', country: 'KE' })
    expect([clientId, clientSecret]).toEqual([expect.stringMatching(/^\w{16}$/), expect.stringMatching(/^pcs_\w{40}$/)])
    const joined = 'select * from partners join partner_secrets on partner_id = partners.id'
    const { results } = await env.DB.prepare(joined).all()
    expect(results).toMatchObject([
      {
        short_name: 'acme',
        name: 'Acme "Wallet"',
        country: 'KE',
        client_id: clientId,
        suspended_at: null,
        expires_at: null,
      },
    ])
    const createdAt = Number(results[0]?.['created_at'])
    expect(createdAt).toBeGreaterThanOrEqual(startedAt)
    expect(createdAt).toBeLessThanOrEqual(await readSeconds())
    expect(results[0]?.['hash']).toMatch(/^\$pbkdf2-sha256\$i=100000\$/)
    expect(JSON.stringify(results)).not.toContain(clientSecret)
  })

  test('names everything that is wrong', async () => {
    const problems = [
      'The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is "Acme/".',
      'The name must be 1 to 200 visible characters on one line; it is " ".',
      'The country must be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".',
    ]
    await expect(create({ shortName: 'Acme/', name: ' ', country: 'ke' })).rejects.toThrow(new UserError(problems))
    expect(await listPartners(store)).toEqual([])
  })

  test.each([
    [{ shortName: 'a' }, 'The short name'],
    [{ shortName: 'acme-' }, 'The short name'],
    [{ shortName: 'a'.repeat(33) }, 'The short name'],
    [{ name: 'a'.repeat(201) }, 'The name'],
    [{ name: 'red\u001b[31m' }, 'The name'],
    [{ name: 'two\nlines' }, 'The name'],
    [{ name: '\u200b\u200d' }, 'The name'],
    [{ name: '\u3164\u2800' }, 'The name'],
    [{ name: 'C1\u0085' }, 'The name'],
    [{ country: 'ke' }, 'The country'],
    [{ country: 'XX' }, 'The country'],
  ])('refuses %j', async (overrides, subject) => {
    await expect(create(overrides)).rejects.toThrow(new RegExp(`^${subject} must be [^\\n]*$`))
  })

  test('refuses a short name that is taken', async () => {
    await create()
    const message = 'The short name acme is taken. Choose another, or see: npm run -s ops -- partner list'
    await expect(create()).rejects.toThrow(new UserError(message))
    expect(await listPartners(store)).toHaveLength(1)
  })

  test('returns the credentials when the write took effect and its answer was lost', async () => {
    const losing = interceptChanges(store, async (call) => {
      await call()
      throw new CloudflareError('lost', { kind: 'unknown' })
    })
    const { clientId } = await createPartner(losing, acme, attribution)
    expect((await find()).clientId).toBe(clientId)
  })
})

test('listPartners sorts by short name and returns no secret', async () => {
  const { clientId } = await create({ shortName: 'zeta' })
  await create()
  const [first, second] = await listPartners(store)
  expect(first?.shortName).toBe('acme')
  expect(second).toEqual({
    shortName: 'zeta',
    name: 'Acme "Wallet"',
    country: 'KE',
    clientId,
    createdAt: expect.any(Number) as number,
    suspendedAt: null,
    contact: null,
    closedAt: null,
    tokensValidFrom: null,
    secretCount: 1,
    oldestSecretAt: expect.any(Number) as number,
  })
})

test('listPartners counts live secrets, and says when the oldest of them was made', async () => {
  await create()
  await rotate(hour)
  await create({ shortName: 'boda' })
  await env.DB.prepare('update partner_secrets set created_at = 100 * id').run()
  const [first] = await listSecrets()
  const read = async () =>
    (await listPartners(store)).map(({ secretCount, oldestSecretAt }) => [secretCount, oldestSecretAt])
  const [[, oldest] = [], [, other] = []] = await read()
  expect(await read()).toEqual([
    [2, oldest],
    [1, other],
  ])
  expect(oldest).toBe(first?.createdAt)
  await env.DB.prepare('update partner_secrets set expires_at = unixepoch() where id = ?').bind(first?.id).run()
  expect((await read())[0]).toEqual([1, Number(oldest) + 100])
  await change('close')
  expect((await read())[0]).toEqual([0, null])
})

describe('rotateSecret', () => {
  test('returns a new secret and keeps the old one for the grace period', async () => {
    const created = await create()
    const rotated = await rotate(2 * hour)
    expect(rotated).toEqual({ ...created, clientSecret: expect.stringMatching(/^pcs_\w{40}$/) as string })
    expect(rotated.clientSecret).not.toBe(created.clientSecret)
    const [old, current, ...others] = await listSecrets()
    expect([old?.expiresAt, current?.expiresAt, others]).toEqual([(current?.createdAt ?? 0) + 2 * hour, null, []])
  })

  test('refuses a third live secret, and says how long the grace period lasts', async () => {
    await create()
    await rotate(hour)
    const secrets = await listSecrets()
    await expect(rotate(hour)).rejects.toThrow(
      new UserError(
        `acme has two live secrets, and the older one works until ${formatIsoTime(secrets[0]?.expiresAt ?? 0)}. If the newer one is lost, replace it: npm run -s ops -- partner rotate acme --replace-newest; to end both now: npm run -s ops -- partner rotate acme --grace 0`,
      ),
    )
    expect(await listSecrets()).toEqual(secrets)
  })

  test('replaces a new secret that was lost, and leaves the older one its expiry', async () => {
    const created = await create()
    await rotate(hour)
    const [old, lost] = await listSecrets()
    const { clientSecret, olderExpiresAt, ...rest } = await replaceNewest()
    expect({ ...rest, clientSecret: created.clientSecret }).toEqual(created)
    expect(clientSecret).toMatch(/^pcs_\w{40}$/)
    const [kept, current, ...others] = await listSecrets()
    expect([kept, current?.expiresAt, others]).toEqual([old, null, []])
    expect(olderExpiresAt).toBe(old?.expiresAt)
    expect(current?.id).not.toBe(lost?.id)
    const { results } = await env.DB.prepare('select id from partner_secrets').all()
    expect(results).toHaveLength(2)
  })

  test('does not replace the only secret that works', async () => {
    await create()
    const secrets = await listSecrets()
    await expect(replaceNewest()).rejects.toThrow(
      new UserError(
        'acme has no older secret that would still work: --replace-newest would end the only one. To keep that one for a grace period: npm run -s ops -- partner rotate acme',
      ),
    )
    expect(await listSecrets()).toEqual(secrets)
  })

  test.each([hour, 0])('refuses when somebody else rotates at the same time, with a grace of %i s', async (grace) => {
    await create()
    const interrupted = interruptFirstWrite(store, () => rotate(grace))
    await expect(rotateSecret(interrupted, await find(), grace, operator)).rejects.toThrow(
      new UserError(
        'Somebody else rotated acme at the same time. Check before you try again: npm run -s ops -- partner show acme',
      ),
    )
    expect(await listSecrets()).toHaveLength(grace === 0 ? 1 : 2)
  })

  test('ends all earlier secrets without a grace period', async () => {
    await create()
    await rotate(hour)
    await rotate(0)
    expect(await listSecrets()).toMatchObject([{ expiresAt: null }])
  })

  test('works again when an earlier grace period has ended', async () => {
    await create()
    await rotate(hour)
    const [first, second] = await listSecrets()
    await env.DB.prepare('update partner_secrets set expires_at = unixepoch() where id = ?').bind(first?.id).run()
    expect(await listSecrets()).toEqual([second])
    await rotate(hour)
    const { results } = await env.DB.prepare('select id, expires_at from partner_secrets').all()
    expect(results).toMatchObject([{ id: second?.id, expires_at: expect.any(Number) as number }, { expires_at: null }])
  })
})

test('end-tokens sets the time from which tokens are valid to after now, and each run moves it forward', async () => {
  const { clientId } = await create()
  const end = async () => (await change('end-tokens')).partner.tokensValidFrom ?? 0
  const startedAt = await readSeconds()
  let first = 0
  const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId)], async () => {
    first = await end()
  })
  expect(left).toEqual([])
  expect(first).toBeGreaterThan(startedAt)
  expect(first).toBeLessThanOrEqual((await readSeconds()) + 1)
  // Tokens of this second are issued as of `first`: another leak in it needs a later time.
  expect(await end()).toBeGreaterThan(first)
  await env.DB.prepare('update partners set tokens_valid_from = unixepoch() + 1000').run()
  const ahead = (await find()).tokensValidFrom ?? 0
  expect(await end()).toBe(ahead + 1)
  expect(await listSecrets()).toMatchObject([{ expiresAt: null }])
})

describe('lockDownPartner', () => {
  const lockDown = async (on = store) => lockDownPartner(on, await find(), operator)

  test('shows the secret before the copy in KV is deleted', async () => {
    await create()
    const order: string[] = []
    const deleteKey = async (name: string) => {
      order.push('copy deleted')
      await store.deleteKey(name)
    }
    const show = ({ clientSecret, tokensValidFrom }: LockedDown) =>
      void order.push(`${clientSecret.slice(0, 4)} ${typeof tokensValidFrom}`)
    await lockDownPartner({ ...store, deleteKey }, await find(), { ...operator, show })
    expect(order).toEqual(['pcs_ number', 'copy deleted'])
  })
  const findSecret = async (secret: string) => {
    const { results } = await env.DB.prepare('select hash from partner_secrets').all<{ hash: string }>()
    return findMatchingHash(
      secret,
      results.map(({ hash }) => hash),
      1,
    )
  }

  test('ends every secret and token, makes a new secret, and deletes the cached copy', async () => {
    const created = await create()
    const rotated = await rotate(hour)
    const startedAt = await readSeconds()
    const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(created.clientId)], async () => {
      const { clientSecret, tokensValidFrom, ...rest } = await lockDown()
      expect({ ...rest, clientSecret: created.clientSecret }).toEqual(created)
      expect(tokensValidFrom).toBe((await find()).tokensValidFrom)
      expect(tokensValidFrom).toBeGreaterThan(startedAt)
      expect(await findSecret(clientSecret)).toBeDefined()
    })
    expect(left).toEqual([])
    expect(await findSecret(created.clientSecret)).toBeUndefined()
    expect(await findSecret(rotated.clientSecret)).toBeUndefined()
    expect(await env.DB.prepare('select count(*) as n from partner_secrets').first('n')).toBe(1)
  })

  test('leaves a suspended partner suspended', async () => {
    await create()
    const { partner } = await change('suspend')
    await lockDown()
    expect((await find()).suspendedAt).toBe(partner.suspendedAt)
  })

  test('refuses when somebody else rotates at the same time', async () => {
    await create()
    const rotations: string[] = []
    const interrupted = interruptFirstWrite(store, async () => {
      rotations.push((await rotate(0)).clientSecret)
    })
    await expect(lockDown(interrupted)).rejects.toThrow(/^Somebody else rotated acme at the same time\./)
    expect(await findSecret(rotations[0] ?? '')).toBeDefined()
    expect((await find()).tokensValidFrom).toBeNull()
  })

  test('returns the secret also when the database fails right after the change', async () => {
    await create()
    expect(await lockDown(failAfterWrite())).toMatchObject({
      clientSecret: expect.stringMatching(/^\w+$/) as string,
      tokensValidFrom: null,
    })
  })
})

test('suspend and resume change the partner once, and delete its cached copy', async () => {
  const { clientId } = await create()
  const others = [getPartnerKey('other'), getPlanListKey('KE', {})]
  const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId), ...others], async () => {
    const { partner, isChanged } = await change('suspend')
    expect([isChanged, partner]).toEqual([true, await find()])
  })
  expect(left).toEqual(others)
  // A suspension keeps its time.
  await env.DB.prepare('update partners set suspended_at = 5').run()
  const again = await change('suspend')
  expect(again).toEqual({ isChanged: false, partner: await find() })
  expect((await find()).suspendedAt).toBe(5)

  expect(await change('resume')).toMatchObject({ isChanged: true, partner: { suspendedAt: null } })
  expect(await change('resume')).toEqual({ isChanged: false, partner: await find() })
  expect((await find()).suspendedAt).toBeNull()
})

test.each([
  ['set-country', () => move('UG'), { country: 'UG' }, 0],
  ['rename', () => rename('Acme Pay'), { name: 'Acme Pay' }, 1],
  ['set-contact', () => setContact('amina@acme.example'), { contact: 'amina@acme.example' }, 1],
])(
  '%s changes the partner once, and leaves the cached copy unless it holds what changed',
  async (_, edit, changed, copies) => {
    const { clientId } = await create()
    const before = await find()
    const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId)], async () => {
      expect(await edit()).toEqual({ isChanged: true, partner: { ...before, ...changed } })
    })
    expect(left).toHaveLength(copies)
    expect(await edit()).toEqual({ isChanged: false, partner: await find() })
  },
)

test('set-contact deletes the contact', async () => {
  await create()
  await setContact('amina@acme.example')
  expect(await setContact(null)).toMatchObject({ isChanged: true, partner: { contact: null } })
})

test.each([
  [() => move('uganda'), 'The country must be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "uganda".'],
  [() => rename('\u200b'), 'The name must be 1 to 200 visible characters on one line; it is "\\u200b".'],
  [() => setContact(''), 'The contact must be 1 to 200 visible characters on one line; it is "".'],
])('a value that is not valid is refused: %s', async (edit, message) => {
  await create()
  await expect(edit()).rejects.toThrow(new UserError(message))
})

describe('close', () => {
  const close = () => change('close')

  test('deletes secrets, contact and cached copy, and the Worker refuses the partner like a suspended one', async () => {
    const { clientId } = await create()
    await setContact('amina@acme.example')
    const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId)], async () => {
      expect(await close()).toMatchObject({ isChanged: true, partner: { contact: null } })
    })
    expect(left).toEqual([])
    const partner = await find()
    expect(readPartnerStatus(partner)).toBe('closed')
    expect([partner.closedAt, await listSecrets()]).toEqual([partner.suspendedAt, []])
    expect((await selectPartnerCheck(env.DB, clientId)).partner).toMatchObject({ isSuspended: true, secrets: [] })
    expect(await close()).toEqual({ isChanged: false, partner })
  })

  test('keeps the time of an earlier suspension', async () => {
    await create()
    await change('suspend')
    await env.DB.prepare('update partners set suspended_at = 5').run()
    expect(await close()).toMatchObject({ partner: { suspendedAt: 5 } })
  })

  test('is for good, and the short name stays taken', async () => {
    await create()
    await close()
    const partner = await find()
    const message = `acme was closed at ${formatIsoTime(partner.closedAt ?? 0)}, for good: its secrets and tokens have ended. To onboard it again, create it under another short name: npm run -s ops -- partner create --help`
    for (const attempt of [
      () => change('resume'),
      () => change('suspend'),
      () => move('UG'),
      () => rename('Other'),
      () => setContact('x'),
      () => rotate(0),
      () => rotate(hour),
      () => replaceNewest(),
      () => change('end-tokens'),
      async () => lockDownPartner(store, await find(), operator),
    ]) {
      await expect(attempt()).rejects.toThrow(new UserError(message))
    }
    await expect(create()).rejects.toThrow(/^The short name acme is taken\./)
    expect(await find()).toEqual(partner)
    expect(await listSecrets()).toEqual([])
  })

  test('wins against a rotation at the same time', async () => {
    await create()
    const interrupted = interruptFirstWrite(store, close)
    await expect(rotateSecret(interrupted, await find(), hour, operator)).rejects.toThrow(UserError)
    expect(await listSecrets()).toEqual([])
  })
})

/** A store whose database fails after the first write. */
function failAfterWrite(): typeof store {
  let isWritten = false
  const read = new Proxy(store.read, {
    get: (db, name) => {
      if (isWritten) throw new Error('D1 is down')
      return Reflect.get(db, name) as unknown
    },
  })
  return interceptChanges({ ...store, read }, async (call) => {
    await call()
    isWritten = true
  })
}

/** A database whose next query waits for a promise. */
function hangUntil(answer: Promise<never>): typeof store.read {
  const where = { where: () => answer }
  return new Proxy(store.read, { get: () => () => ({ from: () => where }) })
}

test('a change that can’t be read afterwards is reported as made', async () => {
  await create()
  await expect(changePartner(failAfterWrite(), { kind: 'suspend', partner: 'acme' }, operator)).rejects.toThrow(
    new UserError('acme was changed, but could not be read afterwards. See: npm run -s ops -- partner show acme'),
  )
})

describe('the cached copy of a partner', () => {
  const suspension = { kind: 'suspend', partner: 'acme' } as const
  const warnings: string[] = []
  const listening = { attribution, warn: (warning: string) => warnings.push(warning) }
  const suspendOn = (on: typeof store) => changePartner(on, suspension, listening)
  const deleted = 'The database fails. The cached copy of acme was deleted.'
  const nothingChanged = 'The database fails, and nothing was changed in it.'
  beforeEach(() => void warnings.splice(0))

  const remains =
    'The isolates that already know acme treat the partner as before until the database works again, for up to 30 hours. Run the command again then.'

  test('is deleted again when there is nothing to change', async () => {
    const { clientId } = await create()
    const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId)], () => change('resume'))
    expect(left).toEqual([])
  })

  test.each([
    [new Error('lost'), new Error('lost')],
    [
      new CloudflareError('D1 hangs.', { kind: 'unknown' }),
      new UserError('D1 hangs. The change was not made: try again.'),
    ],
  ])('is deleted when the write fails, because it may have taken effect: %s', async (failure, reported) => {
    const { clientId } = await create()
    const broken = interceptChanges(store, () => Promise.reject(failure))
    const left = await listKeysAfter(env.CATALOG_CACHE, [getPartnerKey(clientId)], () =>
      expect(suspendOn(broken)).rejects.toThrow(reported),
    )
    expect(left).toEqual([])
    expect(warnings).toEqual([`${deleted} ${remains}`])
  })

  test('is found by its short name while the database does not answer', async () => {
    const copies = { [getPartnerKey('a')]: 'acme', [getPartnerKey('b')]: 'boda', [getPartnerKey('c')]: 'acme' }
    for (const [key, shortName] of Object.entries(copies)) {
      await env.CATALOG_CACHE.put(key, '{}', { metadata: { shortName, checkedAtMs: 1, mac: '' } })
    }
    await env.CATALOG_CACHE.put(getPartnerKey('d'), 'no metadata')
    await expect(suspendOn(storeWithoutDatabase)).rejects.toThrow('D1 is down')
    await expect(findPartnerToChange(storeWithoutDatabase, 'acme', listening.warn)).rejects.toThrow('D1 is down')
    const { keys } = await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })
    expect(keys.map(({ name }) => name)).toEqual([getPartnerKey('b'), getPartnerKey('d')])
    for (const { name } of keys) await env.CATALOG_CACHE.delete(name)
    expect(warnings).toEqual([
      `${nothingChanged} The cached copy of acme was deleted. ${remains}`,
      `${nothingChanged} acme has no cached copy. ${remains}`,
    ])
  })

  test('is deleted after 5 s while the database does not answer, and again when that has changed', async () => {
    await env.CATALOG_CACHE.put(getPartnerKey('a'), '{}', { metadata: { shortName: 'acme' } })
    const answer = Promise.withResolvers<never>()
    const hanging = { ...store, read: hangUntil(answer.promise) }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const failure = suspendOn(hanging).catch(String)
      await vi.advanceTimersByTimeAsync(4999)
      expect(warnings).toEqual([])
      await vi.advanceTimersByTimeAsync(1)
      vi.useRealTimers()
      await vi.waitFor(() => expect(warnings).toHaveLength(2))
      expect(warnings).toEqual([
        'The database takes longer than 5 s. Deleting the cached copy of acme …',
        'The cached copy of acme was deleted. Waiting for the database …',
      ])
      expect((await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })).keys).toEqual([])
      answer.reject(new Error('D1 is down'))
      expect(await failure).toBe('Error: D1 is down')
      expect(warnings.slice(2)).toEqual([`${nothingChanged} acme has no cached copy. ${remains}`])
    } finally {
      vi.useRealTimers()
    }
  })

  test('stays when the change is refused, or when a change fails that it does not hold', async () => {
    const { clientId } = await create()
    await rotate(hour)
    const key = getPartnerKey(clientId)
    const refusals = [() => rotate(hour), () => move('x')]
    const left = await listKeysAfter(env.CATALOG_CACHE, [key], async () => {
      for (const refused of refusals) await expect(refused()).rejects.toThrow(UserError)
      const renaming = { kind: 'rename', partner: 'acme', name: 'Acme' } as const
      await expect(changePartner(storeWithoutDatabase, renaming, operator)).rejects.toThrow('D1 is down')
    })
    expect(left).toEqual([key])
    await change('close')
    const afterClose = await listKeysAfter(env.CATALOG_CACHE, [key], () =>
      expect(change('suspend')).rejects.toThrow(/^acme was closed at /),
    )
    expect(afterClose).toEqual([key])
  })

  test('is not mentioned when a change is refused while the cache fails', async () => {
    await create()
    await rotate(hour)
    const attempt = rotateSecret(storeWithoutCache, await find(), hour, operator)
    await expect(attempt).rejects.toThrow(/^acme has two live secrets, /)
  })

  test('is reported when neither the database nor the cache answers', async () => {
    const { listKeys, deleteKey } = storeWithoutCache
    await expect(suspendOn({ ...storeWithoutDatabase, listKeys, deleteKey })).rejects.toThrow('D1 is down')
    expect(warnings).toEqual([
      `${nothingChanged} The cached copy of acme could not be deleted: KV is down. The service treats the partner as before until the database works again, for up to 30 hours. Run the command again then.`,
    ])
  })

  test('is only a warning when it can’t be deleted', async () => {
    await create()
    await suspendOn(storeWithoutCache)
    expect(warnings).toEqual([
      'The cached copy of acme could not be deleted: KV is down. The change was made, and takes effect within two minutes. While the database fails, the old copy can be used for up to 30 hours: run the command again to delete it.',
    ])
    expect((await find()).suspendedAt).not.toBeNull()
  })
})

test.each([
  ['rotateSecret', () => rotate(0)],
  ['suspend', () => change('suspend')],
  ['resume', () => change('resume')],
  ['set-country', () => move('UG')],
  ['rename', () => rename('Acme')],
  ['set-contact', () => setContact(null)],
  ['close', () => change('close')],
  ['end-tokens', () => change('end-tokens')],
])('%s refuses an unknown partner', async (_, work) => {
  await expect(work()).rejects.toThrow(new UserError('There is no partner "acme". See: npm run -s ops -- partner list'))
})

test('a rotation is due when the oldest secret is more than a year old', () => {
  const yearMs = 365 * 86_400_000
  expect(isRotationDue({ oldestSecretAt: 1000 }, 1_000_000 + yearMs)).toBe(false)
  expect(isRotationDue({ oldestSecretAt: 1000 }, 1_000_001 + yearMs)).toBe(true)
  expect(isRotationDue({ oldestSecretAt: null }, 1e15)).toBe(false)
})
