// "Replicas" and "Restores".
import { expect, test, vi } from 'vitest'
import type { CacheContext } from '../../../src/worker/cache/cache-context.ts'
import {
  client,
  db,
  finishWork,
  hangingSession,
  holdChecks,
  makePartner,
  minute,
  open,
  openOf,
  readForSignIn,
  request,
  requestOf,
  second,
  setClock,
  useSimulatedCatalog,
  withReplica,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('a replica that lags behind does not undo a change of the partner that a sign-in read', async () => {
  await request(0)
  const replica = db.copy()
  db.changePartner({ isSuspended: true })
  await readForSignIn()
  setClock(300 * second)
  expect((await open({ openSession: withReplica(replica) })).partner?.isSuspended).toBe(true)
})

test('of a replica that lags behind is read again from the primary', async () => {
  await request(0)
  const replica = db.copy()
  db.changeCatalog('second')
  await request(121 * second)
  const openSession = vi.fn<CacheContext['openSession']>(withReplica(replica))
  expect(await request(300 * second, {}, { openSession })).toMatchObject({ text: 'second', tier: 'memory' })
  expect(await request(301 * second, { currency: 'KES' }, { openSession })).toMatchObject({ text: 'second' })
  expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary', 'nearest', 'primary'])
})

test('of a replica that lacks two changes costs one query of the primary', async () => {
  await request(0)
  const replica = db.copy()
  db.changeCatalog('second')
  db.changeId++
  await request(121 * second)
  const openSession = vi.fn<CacheContext['openSession']>(withReplica(replica))
  await request(300 * second, {}, { openSession })
  expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary'])
})

test('of a restored database is served, because the primary has it', async () => {
  db.changeCatalog('second')
  await request(0)
  db.revision--
  db.text = 'first'
  expect(await request(121 * second)).toMatchObject({ text: 'first' })
  expect(await request(122 * second)).toMatchObject({ text: 'first', tier: 'memory', calls: [] })
})

test('a replica that lacks a change or a publication confirms nobody', async () => {
  await request(0)
  await requestOf(client.otherId, 0)
  const replica = db.copy()
  db.changePartner({ isSuspended: true })
  await readForSignIn({}, 'unknown')
  expect((await requestOf(client.otherId, 5 * minute, {}, { openSession: withReplica(replica) })).calls).toEqual([
    'check',
  ])
  expect(await request(5 * minute + second)).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })

  const outdated = db.copy()
  db.changeCatalog('second')
  await requestOf(client.otherId, 10 * minute, { currency: 'KES' })
  setClock(15 * minute)
  void openOf(client.otherId, { openSession: withReplica(outdated, hangingSession), waitUntil: () => {} }, {})
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await request(15 * minute + second)).calls).toContain('check')
})

test('a late answer of the primary is served, and neither kept nor counted', async () => {
  await requestOf(client.otherId, 0)
  const { session: late, answer } = holdChecks('before')
  setClock(5 * minute)
  const signIn = readForSignIn({ openSession: () => late })
  db.suspendOther()
  await readForSignIn({}, 'unknown')
  answer()
  const { partner, onVerified } = await signIn
  onVerified()
  await finishWork()
  expect(partner).toEqual(makePartner())
  expect(await requestOf(client.otherId, 5 * minute + second)).toMatchObject({
    calls: ['check'],
    partner: { isSuspended: true },
  })
  expect((await request(5 * minute + second)).calls).toContain('check')
})

test('a restored database is accepted from the primary, and its rows are read again', async () => {
  db.others[client.otherId] = makePartner({ shortName: 'other' })
  await request(0)
  const before = { ...db, others: { ...db.others } }
  db.suspendOther()
  expect(await requestOf(client.otherId, 5 * minute)).toMatchObject({ partner: { isSuspended: true } })
  Object.assign(db, before)
  expect((await request(10 * minute)).calls).toEqual(['check', 'check'])
  expect(await requestOf(client.otherId, 10 * minute + second)).toMatchObject({
    calls: ['check'],
    partner: { isSuspended: false },
  })
  expect((await request(11 * minute + 10 * second)).calls).toEqual(['check'])
  expect(await requestOf(client.otherId, 12 * minute)).toMatchObject({ calls: [], partner: { isSuspended: false } })
})
