import { beforeEach, expect, test } from 'vitest'
import { selectPartnerEntries } from '../../../../src/db/partner-queries.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import { createChanges } from '../../support/partner-changes.ts'
import {
  emptyStores,
  env,
  interceptChanges,
  interruptedStore,
  loseAnswer,
  operator,
  store,
} from '../../support/memory-store.ts'

beforeEach(emptyStores)

const { create, change, set, rotate, replaceAll, lockDown } = createChanges(store, operator)
const listKinds = async () => (await selectPartnerEntries(store.db, {})).map(({ kind }) => kind)

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

test.each<[string, (on: Store) => Promise<unknown>]>([
  ['create', (on) => create({ shortName: 'boda' }, on)],
  ['rotate', (on) => rotate(60, on)],
  ['lockdown', lockDown],
  ['suspend', (on) => change('suspend', on)],
  ['set', (on) => set({ country: 'UG' }, on)],
  ['end', (on) => change('end', on)],
])('a change is made once when its answer is lost: %s', async (kind, make) => {
  await create()
  await make(interceptChanges(loseAnswer))
  expect(await listKinds()).toEqual([kind, 'create'])
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
