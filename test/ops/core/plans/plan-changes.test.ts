// The transcript of plans shows what each change prints.
import { beforeEach, expect, test } from 'vitest'
import { selectCatalogOrigin } from '../../../../src/db/catalog-queries.ts'
import { listPlans } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { emptyStores, importPlans, request, store } from '../../support/memory-store.ts'
import { closePlan } from '../../support/publish-prepared.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['RW'], category: null })

beforeEach(async () => {
  await emptyStores()
  await importPlans([cash, gold])
})

const readRevision = async () => (await selectCatalogOrigin(store.db)).revision

test('closePlan refuses a note that nobody can read', async () => {
  const message = 'The public note must be text of 1 to 2000 characters; it is " ".'
  await expect(closePlan(store, 'cash', ' ', request)).rejects.toThrow(new UserError(message))
})

test('closePlan trims and normalizes the note; a change that changes nothing publishes nothing', async () => {
  const close = () => closePlan(store, '1', ' Cafe\u0301. ', request)
  const closed = { ...cash, isInvestable: false, nonInvestableNote: 'Café.' }
  expect(await close()).toMatchObject({ plan: closed, publication: { state: 'published' } })
  const revision = await readRevision()
  expect((await close()).publication).toBeUndefined()
  expect(await readRevision()).toBe(revision)
  expect(await listPlans(store)).toEqual([closed, gold])
})
