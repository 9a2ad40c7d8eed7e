import { beforeEach, describe, expect, test } from 'vitest'
import { selectCatalogOrigin } from '../../../../src/db/catalog-queries.ts'
import { prepareImport } from '../../../../src/ops/core/catalog/catalog-import.ts'
import { compareChange } from '../../../../src/ops/core/differences/catalog-difference.ts'
import { listPlans } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { emptyStores, importPlans, interruptedStore, request, store } from '../../support/memory-store.ts'
import { makeProposal } from '../../../../src/ops/core/publications/proposal.ts'
import { closePlan, setFields } from '../../support/publish-prepared.ts'

const high = { id: 5, name: 'High' }

beforeEach(emptyStores)

const readRevision = async () => (await selectCatalogOrigin(store.db)).revision

const count = ({ changes, unchanged }: Awaited<ReturnType<typeof importPlans>>) => {
  const size = (kind: string) => changes.map(compareChange).filter((change) => change.kind === kind).length
  return { added: size('added'), changed: size('changed'), removed: size('removed'), unchanged }
}

describe('an import', () => {
  test('replaces every field of a plan with the same ID, and keeps the other plans', async () => {
    expect(count(await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })]))).toEqual({
      added: 2,
      changed: 0,
      removed: 0,
      unchanged: 0,
    })
    const replacement = makePlan({ id: 2, name: 'New', minTopUpAmounts: {}, viewableIn: [], category: null })
    const difference = await importPlans([replacement, makePlan({ id: 3 })])
    expect(count(difference)).toEqual({ added: 1, changed: 1, removed: 0, unchanged: 0 })
    expect(await listPlans(store)).toEqual([makePlan({ id: 1 }), replacement, makePlan({ id: 3 })])
  })

  test('of the same plans changes nothing, in whatever order they are written', async () => {
    await importPlans([makePlan({ minTopUpAmounts: { KES: 1, UGX: 2 }, viewableIn: ['KE', 'UG'] })])
    const again = makePlan({ minTopUpAmounts: { UGX: 2, KES: 1 }, viewableIn: ['UG', 'KE'] })
    const revision = await readRevision()
    expect(count(await importPlans([again]))).toEqual({ added: 0, changed: 0, removed: 0, unchanged: 1 })
    expect(await readRevision()).toBe(revision)
  })

  test('keeps a plan’s identifier and ID together', async () => {
    await importPlans([makePlan({ id: 1, identifier: 'one' }), makePlan({ id: 2, identifier: 'two' })])
    const plans = [makePlan({ id: 1, identifier: 'three' }), makePlan({ id: 4, identifier: 'two' })]
    await expect(prepareImport(store, { plans })).rejects.toThrow(
      new UserError([
        `Plan "three": id: expected an id that no other plan of the catalog has; found 1, the id of plan "one". A plan keeps its identifier; for a new plan, the id 5 is free.`,
        `Plan "two": id: expected 2, its id in the catalog; found 4. A plan keeps its id.`,
      ]),
    )
    // The demo catalog has a plan with the highest possible ID. No suggested ID follows it.
    const others = [42, Number.MAX_SAFE_INTEGER - 1].map((id) => makePlan({ id }))
    await expect(prepareImport(store, { plans: [...plans, ...others] })).rejects.toThrow('the id 43 is free.')
  })

  test('has a doubt about a name that another plan has in other capitals', async () => {
    await importPlans([makePlan({ id: 1, name: 'Épargne sécurité' }), makePlan({ id: 3, name: 'Épargne sécurisé' })])
    const plan = makePlan({ id: 2, name: 'ÉPARGNE SÉCURITÉ', coolName: 'Other' })
    const prepared = await prepareImport(store, { plans: [plan] })
    const { findings } = await makeProposal(store, prepared)
    expect(findings.map(({ message }) => message)).toEqual([
      'name "ÉPARGNE SÉCURITÉ" is also the name of plan-1, on the list of KE.',
    ])
  })

  test('refuses to change a plan that is not in the file through an object that they share', async () => {
    await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })])
    const change = await prepareImport(store, { plans: [makePlan({ id: 1, productRiskLevel: high })] })
    await expect(makeProposal(store, change)).rejects.toThrow(
      new UserError([
        'Plan "plan-1": productRiskLevel.name: expected "Low", as in plan "plan-2"; found "High". Plans with the same productRiskLevel.id must have the same productRiskLevel: change all these plans together.',
      ]),
    )
    const both = [makePlan({ id: 1, productRiskLevel: high }), makePlan({ id: 2, productRiskLevel: high })]
    await importPlans(both)
    expect(await listPlans(store)).toEqual(both)
  })
})

test('after a file without plans with --prune, an ID can be another plan', async () => {
  await importPlans([makePlan({ id: 1, identifier: 'one' }), makePlan({ id: 2, identifier: 'two' })])
  await importPlans([], true)
  const own = [makePlan({ id: 1, identifier: 'two' }), makePlan({ id: 2, identifier: 'one' })]
  await importPlans(own)
  expect(await listPlans(store)).toEqual(own)
})

test('an import that prunes may change a shared object that only removed plans refer to', async () => {
  await importPlans([makePlan({ id: 1 })])
  const renamed = makePlan({ id: 2, productRiskLevel: high })
  await importPlans([renamed], true)
  expect(await listPlans(store)).toEqual([renamed])
})

test('an import is merged with a change of another field that comes between, and refused for the same field', async () => {
  await importPlans([makePlan({ id: 1 })])
  const close = interruptedStore(() => closePlan(store, 'plan-1', 'Sold out.', request))
  await importPlans([makePlan({ id: 1, name: 'New' })], false, close)
  expect((await listPlans(store))[0]).toMatchObject({ name: 'New', nonInvestableNote: 'Sold out.' })
  const rename = interruptedStore(() => setFields(store, 'plan-1', ['name=Theirs'], request))
  await expect(importPlans([makePlan({ id: 1, name: 'Mine' })], false, rename)).rejects.toThrow(
    new UserError([
      'The change can’t be published: others changed name of plan-1.',
      'If your values should replace theirs, run the command again.',
    ]),
  )
  expect((await listPlans(store))[0]?.name).toBe('Theirs')
})
