import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { findPartnerAt, listPartnerEntries } from '../../../src/ops/core/change-record.ts'
import { findPartner } from '../../../src/ops/core/partner-accounts.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { acme, createChanges } from '../support/partner-changes.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { interceptChanges, interruptedStore, loseAnswer, operator, store } from '../support/worker-store.ts'

const attribution = { actor: 'amina@example.com', command: 'partner …', note: 'Ticket 7.' }
const { name: acmeName } = acme

beforeEach(() => emptyDatabase(env))

const { create, change, move, rename, setContact, rotate, replaceNewest, lockDown } = createChanges({
  ...operator,
  attribution,
})
const listEntries = (shortName?: string) => listPartnerEntries(store, { shortName })
const listKinds = async () => (await listEntries()).map(({ kind }) => kind)
/** Gives each row a time of its own. */
const setTimes = (time: string) => env.DB.prepare(`update change_record set changed_at = ${time}`).run()

test('every change has an entry: who, with which command, why, and the partner after it', async () => {
  const { clientId } = await create()
  await rotate(60)
  const { suspendedAt } = (await change('suspend')).partner
  await move('UG')
  await change('resume')
  await replaceNewest()
  const ended = (await change('end-tokens')).partner.tokensValidFrom
  const locked = (await lockDown()).tokensValidFrom
  await rename('Acme Pay')
  await setContact('amina@acme.example')
  const closed = (await change('close')).partner
  const entries = await listEntries('acme')
  const times = entries.map(({ changedAt }) => changedAt)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  const states = entries.map((entry) => [
    entry.id,
    entry.kind,
    entry.name,
    entry.country,
    entry.suspendedAt,
    entry.closedAt,
    entry.tokensValidFrom,
  ])
  expect(states).toEqual([
    [11, 'close', 'Acme Pay', 'UG', closed.suspendedAt, closed.closedAt, locked],
    [10, 'set', 'Acme Pay', 'UG', null, null, locked],
    [9, 'set', 'Acme Pay', 'UG', null, null, locked],
    [8, 'lockdown', acmeName, 'UG', null, null, locked],
    [7, 'end-tokens', acmeName, 'UG', null, null, ended],
    [6, 'replace-newest', acmeName, 'UG', null, null, null],
    [5, 'resume', acmeName, 'UG', null, null, null],
    [4, 'set', acmeName, 'UG', suspendedAt, null, null],
    [3, 'suspend', acmeName, 'KE', suspendedAt, null, null],
    [2, 'rotate', acmeName, 'KE', null, null, null],
    [1, 'create', acmeName, 'KE', null, null, null],
  ])
  expect(closed.closedAt).not.toBeNull()
  expect(entries.at(-1)).toMatchObject({ ...attribution, id: 1, partner: 'acme', kid: null, clientId })
})

test('a command that changes nothing has no entry', async () => {
  await create()
  await change('resume')
  await move('KE')
  await expect(create()).rejects.toThrow(/ is taken/)
  await expect(replaceNewest()).rejects.toThrow(/ no older secret /)
  await rotate(60)
  await expect(rotate(60)).rejects.toThrow(/ two live secrets,/)
  for (const _ of [1, 2]) await change('suspend')
  await rename(acmeName)
  await setContact(null)
  for (const _ of [1, 2]) await change('close')
  await expect(change('resume')).rejects.toThrow(/ was closed at /)
  expect(await listKinds()).toEqual(['close', 'suspend', 'rotate', 'create'])
})

test('the record holds no secret and no contact, and only the newest row of a partner holds hashes', async () => {
  const { clientSecret } = await create()
  await setContact('+254 700 000 000')
  const rotated = await rotate(0)
  const { results } = await env.DB.prepare('select * from change_record order by id').all()
  const text = JSON.stringify(results)
  for (const secret of [clientSecret, rotated.clientSecret, '+254']) expect(text).not.toContain(secret)
  const hash = expect.stringContaining('pbkdf2')
  expect(results).toMatchObject([{ secrets: null }, { secrets: null }, { secrets: hash }])
})

test('the entries of one partner, and those since a time', async () => {
  await create()
  await create({ shortName: 'boda' })
  expect((await listEntries('boda')).map(({ id, partner }) => [id, partner])).toEqual([[2, 'boda']])
  await expect(listEntries('nobody')).rejects.toThrow(/^There is no partner "nobody"\./)
  await setTimes('100 * id')
  const since = async (seconds: number) => (await listPartnerEntries(store, { since: seconds })).map(({ id }) => id)
  expect([await since(200), await since(201)]).toEqual([[2], []])
})

describe('a change is made once', () => {
  test.each<[string, (on: Store) => Promise<unknown>]>([
    ['create', (on) => create({ shortName: 'boda' }, on)],
    ['rotate', (on) => rotate(60, on)],
    ['lockdown', lockDown],
    ['suspend', (on) => change('suspend', on)],
    ['set', (on) => move('UG', on)],
    ['close', (on) => change('close', on)],
  ])('%s, when its answer is lost', async (kind, make) => {
    await create()
    await make(interceptChanges(loseAnswer))
    expect(await listKinds()).toEqual([kind, 'create'])
  })

  test('all of many changes at the same time are made', async () => {
    await Promise.all(['aa', 'bb', 'cc', 'dd', 'ee'].map((shortName) => create({ shortName })))
    expect(await listKinds()).toHaveLength(5)
  })
})

describe('findPartnerAt', () => {
  const at = async (seconds: number) => {
    const { country, suspendedAt } = await findPartnerAt(store, 'acme', seconds)
    return `${country} ${suspendedAt === null ? 'active' : 'suspended'}`
  }

  test('returns the partner as it was at the end of that second', async () => {
    await create()
    await move('UG')
    await change('suspend')
    await create({ shortName: 'boda' })
    await change('resume')
    await setTimes('100 * id, created_at = 100')
    expect([await at(100), await at(199)]).toEqual(['KE active', 'KE active'])
    expect([await at(200), await at(299)]).toEqual(['UG active', 'UG active'])
    expect([await at(300), await at(499)]).toEqual(['UG suspended', 'UG suspended'])
    expect([await at(500), await at(1e9)]).toEqual(['UG active', 'UG active'])
    await expect(at(99)).rejects.toThrow(
      new UserError('There was no partner acme at 1970-01-01T00:01:39Z: it was created at 1970-01-01T00:01:40Z.'),
    )
    await expect(findPartnerAt(store, 'nobody', 99)).rejects.toThrow(/^There is no partner "nobody"\./)
  })

  test('returns the last of several states in one second', async () => {
    await create()
    await move('UG')
    await setTimes('100')
    expect(await at(100)).toBe('UG active')
  })
})

test('a change is refused when somebody else changes the partner at the same time', async () => {
  await create()
  const message =
    'Somebody else changed acme at the same time, so this change was not made. Check before you try again: npm run -s ops -- partner show acme'
  const interrupted = () => interruptedStore(() => rename('Acme Pay'))
  await expect(change('suspend', interrupted())).rejects.toThrow(new UserError(message))
  expect(await findPartner(store, 'acme')).toMatchObject({ name: 'Acme Pay', suspendedAt: null })
})
