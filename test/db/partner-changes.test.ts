// A change of a partner is one INSERT of its next row. Parameters are text, and each write arrives twice.
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { selectPartnerCheck } from '../../src/db/client-queries.ts'
import { deleteLeftovers } from '../../src/db/leftovers.ts'
import {
  insertPartnerChange,
  insertNewPartner,
  findChange,
  insertKeyChange,
  setContact,
  type PartnerChange,
} from '../../src/db/partner-changes.ts'
import {
  selectPartnerEntries,
  selectPartner,
  selectPartners,
  selectStoredSecrets,
} from '../../src/db/partner-queries.ts'
import { useMemoryBindings } from '../ops/support/memory-bindings.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { makeRequest } from '../support/insert-partner.ts'
import { openRepeatingDatabase } from '../support/text-database.ts'

const env = useMemoryBindings()()
const db = openRepeatingDatabase(env.DB)
const acme = { shortName: 'acme', name: 'Acme', country: 'KE', clientId: 'A'.repeat(16), secretHash: 'first' }

beforeEach(async () => {
  await emptyDatabase(env)
  await insertNewPartner(db, makeRequest(), acme)
})

const find = async () => {
  const partner = await selectPartner(db, 'acme')
  if (partner === undefined) throw new Error('no partner')
  return partner
}
const change = async (next: PartnerChange) => insertPartnerChange(db, makeRequest(), (await find()).id, next)
const readSecrets = async () =>
  (await selectPartnerCheck(env.DB, acme.clientId)).partner?.secrets.map(({ hash, expiresAt }) => ({
    hash,
    minutesLeft: expiresAt === null ? null : Math.round((expiresAt - Date.now() / 1000) / 60),
  }))

test('a partner is what its newest row is, and was what an earlier row is', async () => {
  const created = await find()
  await env.DB.prepare('update change_record set changed_at = 1000').run()
  expect(await change({ kind: 'suspend' })).toMatchObject({ tokensValidFrom: null })
  await change({ kind: 'set', name: 'Acme Wallet', country: 'UG' })
  await setContact(db, 'acme', 'amina@acme.example')
  const { partner, changeId } = await selectPartnerCheck(env.DB, acme.clientId)
  expect(partner).toMatchObject({ shortName: 'acme', country: 'UG', isSuspended: true })
  const now = { ...created, name: 'Acme Wallet', country: 'UG', suspendedAt: expect.any(Number), id: changeId }
  expect(await selectPartners(db)).toEqual([
    { ...now, contact: 'amina@acme.example', secrets: [{ createdAt: created.createdAt, expiresAt: null }] },
  ])
  expect(await selectPartner(db, 'acme', 1000)).toMatchObject({ name: 'Acme', country: 'KE', suspendedAt: null })
  expect(await selectPartner(db, 'acme', 999)).toBe(undefined)
  expect((await selectPartnerEntries(db, { shortName: 'acme' })).map(({ kind }) => kind)).toEqual([
    'set',
    'suspend',
    'create',
  ])
  await change({ kind: 'resume' })
  expect(await find()).toMatchObject({ suspendedAt: null })
})

test('a change is made only on the row that was read, and once', async () => {
  const { id: changeId } = await find()
  const request = makeRequest()
  const made = await insertPartnerChange(db, request, changeId, { kind: 'end-tokens' })
  expect(made).toMatchObject({ tokensValidFrom: (await find()).tokensValidFrom })
  for (const newestId of [changeId, changeId + 1]) {
    expect(await insertPartnerChange(db, request, newestId, { kind: 'end-tokens' })).toBe(undefined)
  }
  expect(await findChange(db, request.requestId)).toEqual(made)
  const late = makeRequest()
  expect(await insertPartnerChange(db, late, changeId, { kind: 'resume' })).toBe(undefined)
  expect(await findChange(db, late.requestId)).toBe(undefined)
})

test('a short name and a client ID are never used twice', async () => {
  await change({ kind: 'end' })
  const clientId = 'B'.repeat(16)
  await expect(insertNewPartner(db, makeRequest(), { ...acme, clientId })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('change_record.partner') },
  })
  await expect(insertNewPartner(db, makeRequest(), { ...acme, shortName: 'other' })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('change_record.client_id') },
  })
})

describe('secrets', () => {
  test('rotate keeps the old one for the grace period', async () => {
    await change({ kind: 'rotate', graceSeconds: 600, secretHash: 'second' })
    expect(await readSecrets()).toEqual([
      { hash: 'first', minutesLeft: 10 },
      { hash: 'second', minutesLeft: null },
    ])
    // A third live secret is refused, and rotating with less grace shortens the older one.
    await expect(change({ kind: 'rotate', graceSeconds: 60, secretHash: 'third' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('CHECK') },
    })
    await change({ kind: 'replace-all', secretHash: 'third' })
    expect(await readSecrets()).toEqual([{ hash: 'third', minutesLeft: null }])
    expect((await find()).secrets).toEqual([{ createdAt: expect.any(Number), expiresAt: null }])
  })

  test('replace-newest keeps the older one as long as it would have worked', async () => {
    await change({ kind: 'rotate', graceSeconds: 600, secretHash: 'lost' })
    await change({ kind: 'replace-newest', secretHash: 'third' })
    expect(await readSecrets()).toEqual([
      { hash: 'first', minutesLeft: 10 },
      { hash: 'third', minutesLeft: null },
    ])
  })

  test('lockdown and end-tokens move the time forward, also when the clock was set back, and lockdown ends every secret', async () => {
    const ahead = Math.floor(Date.now() / 1000) + 3600
    await change({ kind: 'lockdown', secretHash: 'second' })
    const { tokensValidFrom } = await find()
    expect(Math.abs((tokensValidFrom ?? 0) - Date.now() / 1000)).toBeLessThanOrEqual(1)
    expect(await readSecrets()).toEqual([{ hash: 'second', minutesLeft: null }])
    await env.DB.prepare('update change_record set tokens_valid_from = ?').bind(ahead).run()
    await change({ kind: 'end-tokens' })
    expect(await find()).toMatchObject({ tokensValidFrom: ahead + 1 })
    await change({ kind: 'suspend' })
    expect(await find()).toMatchObject({ tokensValidFrom: ahead + 1 })
  })

  test('only the newest row of a partner keeps hashes', async () => {
    await insertNewPartner(db, makeRequest(), {
      ...acme,
      shortName: 'other',
      clientId: 'B'.repeat(16),
      secretHash: 'x',
    })
    await change({ kind: 'lockdown', secretHash: 'second' })
    await deleteLeftovers(db)
    const { results } = await env.DB.prepare(`select secrets ->> '$[0].hash' as hash from change_record`)
      .raw<[string]>()
      .then((rows) => ({ results: rows.flat() }))
    expect(results).toEqual([null, 'x', 'second'])
    expect((await selectStoredSecrets(db)).map(({ hash, shortName }) => ({ hash, shortName }))).toEqual([
      { hash: 'x', shortName: 'other' },
      { hash: 'second', shortName: 'acme' },
    ])
  })
})

test('an ended partner stays ended, without secrets and contact', async () => {
  await setContact(db, 'acme', 'amina@acme.example')
  await change({ kind: 'end' })
  await deleteLeftovers(db)
  await setContact(db, 'acme', 'amina@acme.example')
  expect(await change({ kind: 'resume' })).toBe(undefined)
  expect(await find()).toMatchObject({ contact: null, endedAt: expect.any(Number), suspendedAt: expect.any(Number) })
  expect(await readSecrets()).toEqual([])
  await insertNewPartner(db, makeRequest(), { ...acme, shortName: 'other', clientId: 'B'.repeat(16) })
  await setContact(db, 'other', 'x')
  await setContact(db, 'other', null)
  expect(await env.DB.prepare('select count(*) as count from partner_contacts').first('count')).toBe(0)
})

test('the ID of a change is at least the time in milliseconds and higher than the one before, also when the clock was set back', async () => {
  const { id } = await find()
  expect(Math.abs(Date.now() - id)).toBeLessThan(60_000)
  await env.DB.prepare('update change_record set id = id + 3600000').run()
  expect(await change({ kind: 'suspend' })).toMatchObject({ id: id + 3_600_001 })
  expect(await insertKeyChange(db, makeRequest(), 'keys-rotate', 'K1')).toMatchObject({ id: id + 3_600_002 })
})

test('a check has the ID of the newest change of any partner, and a restored database uses none twice', async () => {
  const readChangeId = async () => (await selectPartnerCheck(env.DB, acme.clientId)).changeId
  const made = await insertNewPartner(db, makeRequest(), { ...acme, shortName: 'other', clientId: 'B'.repeat(16) })
  expect(await readChangeId()).toBe(made?.id)
  // As a restore does it.
  await env.DB.prepare('delete from change_record where id = ?').bind(made?.id).run()
  expect(await readChangeId()).toBe((await find()).id)
  await sleep(2)
  const changed = await change({ kind: 'suspend' })
  expect(await readChangeId()).toBe(changed?.id)
  expect(changed?.id).toBeGreaterThan(made?.id ?? Infinity)
})
