// The catalog as it was, exact to the second.
import { beforeEach, describe, expect, test } from 'vitest'
import type { CatalogFile } from '../../../../src/ops/core/file-formats/catalog-file.ts'
import { requirePlan, listPlans, readCatalogAt } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { prepareImport } from '../../../../src/ops/core/catalog/catalog-import.ts'
import {
  listPublications,
  requirePublicationWithChanges,
} from '../../../../src/ops/core/publications/publication-log.ts'
import { prepareUndo } from '../../../../src/ops/core/publications/publication-undo.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { spreadTimes } from '../../../support/publish-plans.ts'
import { interceptD1 } from '../../../support/unreliable-stores.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { emptyStores, env, importPlans, request, store } from '../../support/memory-store.ts'
import { closePlan, publishChange, setFields } from '../../support/publish-prepared.ts'

beforeEach(emptyStores)

const plans = [1, 2, 3].map((id) => makePlan({ id, viewableIn: ['KE', 'UG'] }))

test('requirePlan returns a plan as it was, also one that is gone', async () => {
  await importPlans(plans)
  await closePlan(store, 'plan-2', 'Sold out.', request)
  await importPlans(plans.slice(0, 1), true)
  await spreadTimes(env.DB)
  expect(await requirePlan(store, 'plan-2', 1009)).toEqual(plans[1])
  const readList = (country: string) => listPlans(store, country, 1009)
  expect({ UG: await readList('UG'), RW: await readList('RW') }).toEqual({ UG: plans, RW: [] })
  expect(await requirePlan(store, '2', 1010)).toMatchObject({ nonInvestableNote: 'Sold out.' })
  const gone = 'There is no plan "plan-2" at 1970-01-01 03:17 in '
  await expect(requirePlan(store, 'plan-2', 1020)).rejects.toThrow(gone)
})

test('requirePlan never returns another plan that had the same ID', async () => {
  await importPlans(plans)
  const other = makePlan({ id: 1, identifier: 'other' })
  await importPlans([], true)
  await importPlans([other])
  await spreadTimes(env.DB)
  expect(await requirePlan(store, 'plan-1', 1000)).toEqual(plans[0])
  expect(await requirePlan(store, 'other', 1020)).toEqual(other)
  expect(await requirePlan(store, '1', 1020)).toEqual(other)
  await expect(requirePlan(store, 'plan-1', 1020)).rejects.toThrow('There is no plan "plan-1"')
})

test('the future has the changes that are scheduled until then and have no conflict, and is no file', async () => {
  await importPlans(plans)
  const hour = Math.floor(Date.now() / 3.6e6) * 3600 + 3600
  const at = (hours: number) => ({ ...request, dueAt: hour + hours * 3600 })
  await setFields(store, 'plan-3', ['hint=Later'], at(2))
  await setFields(store, 'plan-1', ['hint=New'], at(0))
  await setFields(store, 'plan-1', ['hint=Newer'], at(1))
  await setFields(store, 'plan-2', ['hint=Mine'], at(0))
  await setFields(store, 'plan-2', ['hint=Theirs'], request)
  const [first, second, third] = plans
  const next = [{ ...first, hint: 'New' }, { ...second, hint: 'Theirs' }, third]
  expect(await listPlans(store, undefined, hour + 3600)).toEqual(next)
  expect(await listPlans(store, 'RW', hour + 3600)).toEqual([])
  expect(await requirePlan(store, 'plan-3', hour + 7200)).toEqual({ ...third, hint: 'Later' })
  await expect(readCatalogAt(store, hour)).rejects.toThrow(/^--at is in the future: /)
})

test('the future never has two plans of one identifier', async () => {
  await importPlans(plans)
  const dueAt = Math.floor(Date.now() / 3.6e6) * 3600 + 3600
  for (const id of [4, 5]) {
    const change = await prepareImport(store, { plans: [makePlan({ id, identifier: 'new' })] })
    await publishChange(store, change, { ...request, dueAt })
  }
  expect((await listPlans(store, undefined, dueAt)).map(({ id }) => id)).toEqual([1, 2, 3, 4])
})

test('there was no catalog before the first publication', async () => {
  await importPlans(plans)
  await spreadTimes(env.DB)
  await expect(readCatalogAt(store, 999)).rejects.toThrow('There was no catalog at 1970-01-01 03:16 in ')
})

describe('a plan that was added, changed, removed and added again', () => {
  const [other, gold, fresh] = [makePlan({ id: 1 }), makePlan({ id: 2, name: 'Gold' }), makePlan({ id: 2 })]
  const closed = { ...gold, isInvestable: false, nonInvestableNote: 'Sold out.' }

  test('has each of its versions for as-of, undo and merge, also in the second round', async () => {
    const round = [[other, gold], [other, closed], [other], [other, fresh], [other]]
    const states = [[other], ...round, ...round]
    const files: CatalogFile[] = []
    for (const state of states) {
      await importPlans(state, true)
      files.push(await readCatalogAt(store))
    }
    await spreadTimes(env.DB)
    for (const [step, { origin }] of files.entries()) if (origin) origin.revision = (1000 + 10 * step) * 1000
    const rows = (await listPublications(store, {})).toReversed()

    for (const [step, expected] of states.entries()) {
      const atSeconds = 1000 + 10 * step
      expect(await readCatalogAt(store, atSeconds)).toEqual(files[step])
      const found = await requirePlan(store, 'plan-2', atSeconds).catch(() => undefined)
      expect(found).toEqual(expected[1])
    }

    for (const [step, { id }] of [...rows.entries()].slice(1).toReversed()) {
      const [before, after] = [states[step - 1]?.[1] ?? null, states[step]?.[1] ?? null]
      expect((await requirePublicationWithChanges(store, id)).changes).toEqual([{ planId: 2, before, after }])
      await publishChange(store, await prepareUndo(store, id), request)
      expect(await listPlans(store)).toEqual(states[step - 1])
    }

    // An import of any of these exports, in which only the other plan was edited, does not add this plan again.
    for (const [step, file] of files.entries()) {
      const renamed = { ...other, name: `Step ${step}` }
      const edited = { ...file, plans: [renamed, ...file.plans.slice(1)] }
      await publishChange(store, await prepareImport(store, edited), request)
      expect(await listPlans(store)).toEqual([renamed])
      await importPlans([other])
    }
  })
})

test('a catalog that others change between two of its pages is read again, up to three times', async () => {
  const many = Array.from({ length: 160 }, (_, index) => makePlan({ id: index + 1 }))
  await importPlans(many)
  const readInterrupted = async (times: number) => {
    let rest = times
    const interrupted = interceptD1(env.DB, async (call, { params: [lastId] }) => {
      if (lastId === 150 && rest-- > 0) await setFields(store, 'plan-1', [`hint=${times} ${rest}`], request)
      return call()
    })
    return readCatalogAt({ ...store, db: openOperatorDatabase(interrupted) })
  }
  const read = await readInterrupted(3)
  expect(read).toEqual(await readCatalogAt(store))
  expect(read.plans[0]?.hint).toBe('3 0')
  await expect(readInterrupted(4)).rejects.toThrow('The catalog changes again and again while it is read. Try again.')
})
