import { beforeEach, describe, expect, test } from 'vitest'
import { selectPartnerEntries } from '../../../../src/db/partner-queries.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import { acme, createChanges } from '../../support/partner-changes.ts'
import {
  emptyStores,
  env,
  interceptChanges,
  interruptedStore,
  loseAnswer,
  operator,
  store,
} from '../../support/memory-store.ts'

const attribution = { actor: 'amina@example.com', command: 'partner …', note: 'Ticket 7.' }
const { name: acmeName } = acme

beforeEach(emptyStores)

const { create, change, set, rotate, replaceAll, replaceNewest, lockDown } = createChanges(store, {
  ...operator,
  attribution,
})
const listEntries = (shortName?: string) => selectPartnerEntries(store.db, { shortName })
const listKinds = async () => (await listEntries()).map(({ kind }) => kind)

test('every change has an entry: who, with which command, why, and the partner after it', async () => {
  const { clientId } = await create()
  await rotate(60)
  const { suspendedAt } = await change('suspend')
  await set({ country: 'UG' })
  await change('resume')
  await replaceNewest()
  const tokensEnded = (await change('end-tokens')).tokensValidFrom
  const locked = (await lockDown()).tokensValidFrom
  await set({ name: 'Acme Pay' })
  await set({ contact: 'amina@acme.example' })
  const ended = await change('end')
  const entries = await listEntries('acme')
  const times = entries.map(({ changedAt }) => changedAt)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  const states = entries.map((entry) => ({
    kind: entry.kind,
    name: entry.name,
    country: entry.country,
    suspendedAt: entry.suspendedAt,
    endedAt: entry.endedAt,
    tokensValidFrom: entry.tokensValidFrom,
  }))
  const created = { name: acmeName, country: 'KE', suspendedAt: null, endedAt: null, tokensValidFrom: null }
  const moved = { ...created, country: 'UG' }
  const renamed = { ...moved, name: 'Acme Pay', tokensValidFrom: locked }
  expect(states).toEqual([
    { kind: 'end', ...renamed, suspendedAt: ended.suspendedAt, endedAt: ended.endedAt },
    { kind: 'set-contact', ...renamed },
    { kind: 'set', ...renamed },
    { kind: 'lockdown', ...moved, tokensValidFrom: locked },
    { kind: 'end-tokens', ...moved, tokensValidFrom: tokensEnded },
    { kind: 'replace-newest', ...moved },
    { kind: 'resume', ...moved },
    { kind: 'set', ...moved, suspendedAt },
    { kind: 'suspend', ...created, suspendedAt },
    { kind: 'rotate', ...created },
    { kind: 'create', ...created },
  ])
  expect(ended.endedAt).not.toBeNull()
  expect(entries.at(-1)).toMatchObject({ ...attribution, shortName: 'acme', clientId })
})

test('a command that is refused, or repeats a suspension, has no entry', async () => {
  await create()
  await change('resume')
  await expect(create()).rejects.toThrow(/ is taken/)
  await expect(replaceNewest()).rejects.toThrow(/ only one secret\./)
  await rotate(60)
  await expect(rotate(60)).rejects.toThrow(/ two live secrets,/)
  for (const _ of [1, 2]) await change('suspend')
  for (const _ of [1, 2]) await change('end')
  await expect(change('resume')).rejects.toThrow(/ was ended at /)
  expect(await listKinds()).toEqual(['end', 'suspend', 'rotate', 'create'])
})

test('the record holds no secret and no contact, and only the newest row of a partner holds hashes', async () => {
  const { clientSecret } = await create()
  await set({ contact: '+254 700 000 000' })
  const rotated = await replaceAll()
  const { results } = await env.DB.prepare('select * from change_record order by id').all()
  const text = JSON.stringify(results)
  for (const secret of [clientSecret, rotated.clientSecret, '+254']) expect(text).not.toContain(secret)
  const hash = expect.stringContaining('pbkdf2')
  expect(results).toMatchObject([{ secrets: null }, { secrets: null }, { secrets: hash }])
})

describe('a change is made once', () => {
  test.each<[string, (on: Store) => Promise<unknown>]>([
    ['create', (on) => create({ shortName: 'boda' }, on)],
    ['rotate', (on) => rotate(60, on)],
    ['lockdown', lockDown],
    ['suspend', (on) => change('suspend', on)],
    ['set', (on) => set({ country: 'UG' }, on)],
    ['end', (on) => change('end', on)],
  ])('%s, when its answer is lost', async (kind, make) => {
    await create()
    await make(interceptChanges(loseAnswer))
    expect(await listKinds()).toEqual([kind, 'create'])
  })
})

test('a change is refused when somebody else changes the partner at the same time', async () => {
  await create()
  const others = [() => set({ name: 'Acme Pay' }), () => change('end')]
  for (const [index, make] of [(on: Store) => change('suspend', on), lockDown].entries()) {
    const attempt = make(interruptedStore(others[index] ?? create))
    await expect(attempt).rejects.toThrow(/^Somebody else changed acme at the same time\./)
  }
  expect(await listKinds()).toEqual(['end', 'set', 'create'])
})
