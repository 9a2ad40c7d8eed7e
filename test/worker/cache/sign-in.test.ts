// "Sign-in".
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey, type PartnerMark } from '../../../src/api/cache-keys.ts'
import type { PartnerAccess } from '../../../src/db/client-queries.ts'
import type { CacheContext } from '../../../src/worker/cache/cache-context.ts'
import {
  client,
  db,
  finishWork,
  hour,
  makePartner,
  minute,
  readForSignIn,
  request,
  second,
  session,
  setClock,
  sharedKv,
  start,
  startNewIsolate,
  useSimulatedCatalog,
  warnings,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('a sign-in', () => {
  const readClient = async (ageMs: number, overrides: Partial<CacheContext> = {}) => {
    setClock(ageMs)
    return readForSignIn(overrides)
  }
  const signIn = async (ageMs: number, overrides: Partial<CacheContext> = {}) => {
    const signed = await readClient(ageMs, overrides)
    signed.onVerified()
    await finishWork()
    return signed
  }

  test('asks the primary each time, also right after a check', async () => {
    await request(0)
    const openSession = vi.fn<CacheContext['openSession']>(() => session)
    const { partner, isFallback } = await readClient(second, { openSession })
    expect({ partner, isFallback }).toEqual({ partner: makePartner(), isFallback: false })
    expect(openSession.mock.calls).toEqual([['primary']])
  })

  test('makes the next list of the isolate cost nothing: KV’s list is in memory, and the check, too', async () => {
    await request(0)
    startNewIsolate()
    await signIn(second)
    const get = vi.spyOn(sharedKv, 'getWithMetadata')
    expect(await request(2 * second)).toMatchObject({ tier: 'memory', calls: [], cacheStatus: 'memory; hit; ttl=59' })
    expect(get).not.toHaveBeenCalled()
  })

  test('does not put an outdated list of KV before D1’s', async () => {
    await request(0)
    startNewIsolate()
    db.changeCatalog('second')
    await signIn(second)
    expect(await request(2 * second)).toMatchObject({ text: 'second', tier: 'd1', calls: ['list'] })
  })

  test('keeps the newest revision when an older answer of the primary comes first', async () => {
    await request(0)
    startNewIsolate()
    const releases: (() => void)[] = []
    const checkPartner = async () => {
      const { partner, partnerChangeId, changeId, revision } = db
      await new Promise<void>((resolve) => void releases.push(resolve))
      return { partner, partnerChangeId, changeId, revision, nowSeconds: db.nowSeconds }
    }
    const context = { openSession: () => ({ ...session, checkPartner }) }
    const older = readForSignIn(context, 'another-client')
    db.changeCatalog('second')
    const newer = readForSignIn(context)
    releases[0]?.()
    ;(await older).onVerified()
    releases[1]?.()
    ;(await newer).onVerified()
    await finishWork()
    expect(await request(second)).toMatchObject({ text: 'second', tier: 'd1' })
  })

  test('keeps the answer of the newest change, also when an earlier one comes later', async () => {
    const answers: ((answer: { partner: PartnerAccess; changeId: number }) => void)[] = []
    const checkPartner = async () => ({
      ...(await new Promise<Parameters<(typeof answers)[0]>[0]>((resolve) => void answers.push(resolve))),
      partnerChangeId: 1,
      revision: 7,
      nowSeconds: db.nowSeconds,
    })
    const context = { openSession: () => ({ ...session, checkPartner }) }
    const [older, newer] = [readForSignIn(context), readForSignIn(context)]
    answers[1]?.({ partner: makePartner({ isSuspended: true }), changeId: 2 })
    ;(await newer).onVerified()
    answers[0]?.({ partner: makePartner(), changeId: 1 })
    ;(await older).onVerified()
    await finishWork()
    expect((await request(second)).partner).toEqual(makePartner({ isSuspended: true }))
  })

  test('beside another one leaves a copy of the partner, and of its change', async () => {
    const readCopy = () => sharedKv.get(getPartnerKey(client.id), 'json')
    for (const isSuspended of [false, true]) {
      db.changePartner({ isSuspended })
      for (const { onVerified } of [await readClient(minute), await readClient(minute + 1)]) onVerified()
      await finishWork()
      expect(await readCopy()).toMatchObject({ isSuspended })
    }
  })

  test('keeps nothing before the secret was verified', async () => {
    await readClient(0)
    await finishWork()
    expect(await sharedKv.get(getPartnerKey(client.id))).toBeNull()
    expect((await request(second)).calls).toEqual(['check', 'list'])
  })

  test('writes the partner’s copy, and again after an hour', async () => {
    const put = vi.spyOn(sharedKv, 'put')
    for (const ageMs of [0, minute, hour, hour + second]) await signIn(ageMs)
    expect(put.mock.calls.map(([key]) => key)).toEqual([getPartnerKey(client.id), getPartnerKey(client.id)])
  })

  test('uses the copy of an earlier one for 30 h while D1 fails, and never makes it younger', async () => {
    await signIn(0)
    startNewIsolate()
    db.isDown = true
    const put = vi.spyOn(sharedKv, 'put')
    for (const ageMs of [hour, 15 * hour, 30 * hour]) {
      expect(await signIn(ageMs)).toMatchObject({ partner: makePartner(), isFallback: true })
    }
    expect(put).not.toHaveBeenCalled()
    expect(warnings).toContain('served_stale')
    expect(await readClient(30 * hour + second)).toMatchObject({
      partner: undefined,
      isFallback: true,
    })
  })

  test('counts an answer of D1 as of D1’s clock, and a copy as a minute older: it may be a lagging replica’s', async () => {
    const { nowSeconds } = db
    expect(await signIn(0)).toMatchObject({ asOfSeconds: nowSeconds, nowSeconds })
    db.isDown = true
    const asOfSeconds = (start - minute) / second
    for (const ageMs of [minute, minute + second, hour]) {
      expect(await signIn(ageMs)).toMatchObject({ asOfSeconds, nowSeconds: (start + ageMs) / second })
    }
    startNewIsolate()
    for (const ageMs of [hour, hour + second]) expect(await signIn(ageMs)).toMatchObject({ asOfSeconds })
  })

  test('uses a copy at once for ten seconds after a failure of D1', async () => {
    await signIn(0)
    db.isDown = true
    db.calls = []
    for (const ageMs of [hour, hour + second, hour + 9 * second]) await signIn(ageMs)
    expect(db.calls).toEqual(['check'])
  })

  test('while D1 fails, needs no entry of KV for two minutes: a location may remember for one that there was none', async () => {
    const kv = { ...sharedKv, getWithMetadata: (async () => ({ value: null, metadata: null })) as never }
    await signIn(0, { kv })
    db.isDown = true
    for (const ageMs of [20 * second, 21 * second, 2 * minute]) {
      expect(await readClient(ageMs, { kv })).toMatchObject({ partner: makePartner(), isFallback: true })
    }
    expect((await readClient(2 * minute + second, { kv })).partner).toBeUndefined()
  })

  test('while D1 fails, obeys a mark also right after D1’s answer', async () => {
    await signIn(0)
    const metadata = { shortName: 'acme', endedAtMs: start + second } satisfies PartnerMark
    await sharedKv.put(getPartnerKey(client.id), '', { metadata })
    db.isDown = true
    for (const ageMs of [2 * second, 3 * second]) expect((await readClient(ageMs)).partner).toBeUndefined()
  })
})
