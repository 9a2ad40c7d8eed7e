// "Replicas" and "Restores".
import { expect, test, vi } from 'vitest'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import {
  changeCatalog,
  changePartner,
  client,
  clock,
  copyDatabase,
  db,
  finishWork,
  isolate,
  makeContext,
  makePartner,
  minute,
  open,
  readForSignIn,
  request,
  requestOf,
  second,
  session,
  start,
  suspendOther,
  useSimulatedCatalog,
  withReplica,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('a replica that lags behind does not undo a change of the partner that a sign-in read', async () => {
  await request(0)
  const replica = copyDatabase()
  changePartner({ isSuspended: true })
  await readForSignIn(makeContext())
  clock.nowMs = start + 300 * second
  expect((await open({ openSession: withReplica(replica) })).partner?.isSuspended).toBe(true)
})

test('of a replica that lags behind is read again from the primary', async () => {
  await request(0)
  const replica = copyDatabase()
  changeCatalog('second')
  await request(121 * second)
  const openSession = vi.fn<CacheContext['openSession']>(withReplica(replica))
  expect(await request(300 * second, {}, { openSession })).toMatchObject({ text: 'second', tier: 'memory' })
  expect(await request(301 * second, { currency: 'KES' }, { openSession })).toMatchObject({ text: 'second' })
  expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary', 'nearest', 'primary'])
})

test('of a replica that lacks two changes costs one query of the primary', async () => {
  await request(0)
  const replica = copyDatabase()
  changeCatalog('second')
  db.changeId++
  await request(121 * second)
  const openSession = vi.fn<CacheContext['openSession']>(withReplica(replica))
  await request(300 * second, {}, { openSession })
  expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary'])
})

test('of a restored database is served, because the primary has it', async () => {
  changeCatalog('second')
  await request(0)
  db.revision--
  db.text = 'first'
  expect(await request(121 * second)).toMatchObject({ text: 'first' })
  expect(await request(122 * second)).toMatchObject({ text: 'first', tier: 'memory', calls: [] })
})

test('a replica that lacks a change or a publication confirms nobody', async () => {
  await request(0)
  await requestOf(client.otherId, 0)
  const replica = copyDatabase()
  changePartner({ isSuspended: true })
  await readForSignIn(makeContext(), 'unknown')
  expect((await requestOf(client.otherId, 5 * minute, {}, { openSession: withReplica(replica) })).calls).toEqual([
    'check',
  ])
  expect(await request(5 * minute + second)).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })

  const outdated = copyDatabase()
  changeCatalog('second')
  await requestOf(client.otherId, 10 * minute, { currency: 'KES' })
  const hanging = { ...session, checkPartner: () => new Promise<never>(() => {}) }
  const openSession = withReplica(outdated, hanging)
  clock.nowMs = start + 15 * minute
  void isolate.openCatalog(makeContext({ openSession, waitUntil: () => {} }), {
    clientId: client.otherId,
    countryHint: client.country,
    filter: {},
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await request(15 * minute + second)).calls).toContain('check')
})

test('a late answer of the primary is served, and neither kept nor counted', async () => {
  await requestOf(client.otherId, 0)
  const late = Promise.withResolvers<void>()
  const checkPartner: CatalogSession['checkPartner'] = async (id) => {
    const check = await session.checkPartner(id)
    await late.promise
    return check
  }
  clock.nowMs = start + 5 * minute
  const signIn = readForSignIn(makeContext({ openSession: () => ({ ...session, checkPartner }) }))
  suspendOther()
  await readForSignIn(makeContext(), 'unknown')
  late.resolve()
  const { partner, accept } = await signIn
  accept()
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
  suspendOther()
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
