import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comparePlans } from '../../../../src/ops/core/differences/plan-paths.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { formatConflict, mergeCatalog, type MergeInput } from '../../../../src/ops/core/differences/catalog-merge.ts'
import { arbitraryCatalog, makePlan } from '../../../support/make-plan.ts'

const merge = (input: Partial<MergeInput>) => {
  const file = [makePlan()]
  const merged = mergeCatalog({ base: file, file, current: file, isPruning: false, ...input })
  return {
    put: merged.flatMap(({ after }) => after ?? []),
    removedIds: merged.flatMap(({ planId, after, conflicts }) => (after || conflicts[0] ? [] : planId)),
    conflicts: merged.flatMap(({ conflicts }) => conflicts),
  }
}
type CatalogMerge = ReturnType<typeof merge>

// catalog-import-merge.test.ts has examples of a merge.

test('never merges fields into another plan that got the same ID', () => {
  const input = { file: [makePlan({ name: 'New' })], current: [makePlan({ identifier: 'other' })] }
  expect(merge(input).conflicts).toMatchObject([{ current: null, identifier: 'plan-1' }])
  expect(merge({ ...input, file: [], isPruning: true })).toEqual({ put: [], removedIds: [], conflicts: [] })
  // The import refuses a plan whose identifier changed.
  const renamed = makePlan({ identifier: 'other' })
  expect(merge({ file: [renamed], isPruning: true })).toEqual({ put: [renamed], removedIds: [], conflicts: [] })
})

test('a conflict is one line with both values, from shortly before their first difference', () => {
  const about = 'Holds treasury bills. '.repeat(10)
  const base = [makePlan({ id: 1, about }), makePlan({ id: 2 }), makePlan({ id: 3 })]
  const file = [makePlan({ id: 1, about: `${about}A\u202e`, minTopUpAmounts: {} }), makePlan({ id: 2, name: 'New' })]
  const current = [
    makePlan({ id: 1, about: `${about}B`, minTopUpAmounts: { KES: 2 } }),
    makePlan({ id: 3, name: 'New' }),
  ]
  expect(merge({ base, file, current, isPruning: true }).conflicts.map(formatConflict)).toEqual([
    'Plan "plan-1": about: the file says "…lds treasury bills. A\\u202e"; the catalog says "…lds treasury bills. B".',
    'Plan "plan-1": minTopUpAmounts: the file says {}; the catalog says {"KES":2}.',
    'Plan "plan-2": the file changes the plan; others removed it from the catalog.',
    'Plan "plan-3": the file removes the plan; others changed it in the catalog.',
  ])
})

// Properties

/** The fields that a random edit sets; `isInvestable` follows from the note. */
const editableFields = Object.keys(makePlan()).filter((name) => !['id', 'identifier', 'isInvestable'].includes(name))

function editPlan(plan: CatalogPlan, donor: CatalogPlan | undefined, fields: readonly string[]): CatalogPlan {
  const edits = Object.entries(donor ?? plan).filter(([name]) => fields.includes(name))
  const edited: CatalogPlan = { ...plan, ...Object.fromEntries(edits) }
  return { ...edited, isInvestable: edited.nonInvestableNote === null }
}

/** Keeps, edits, removes and adds plans at random: of `universe`, those that are not in `base` are new. */
function arbitraryEdit(universe: CatalogPlan[], base: CatalogPlan[], fates: readonly string[]) {
  const fate = fc.record({ fate: fc.constantFrom('kept', ...fates), fields: fc.subarray(editableFields) })
  const size = { minLength: universe.length, maxLength: universe.length }
  return fc.tuple(arbitraryCatalog, fc.array(fate, size)).map(([donors, plans]) =>
    universe.flatMap((plan, index) => {
      const { fate: name = '', fields = [] } = plans[index] ?? {}
      if (name === 'removed' || (name === 'kept' && !base.includes(plan))) return []
      if (name === 'kept') return [plan]
      const edited = editPlan(plan, donors[index % donors.length], fields)
      return [name === 'replaced' ? { ...edited, identifier: `other.${plan.id}` } : edited]
    }),
  )
}

/** An export, how the operator edited it, and what happened to the catalog meanwhile. */
const arbitraryCase = arbitraryCatalog.chain((all) =>
  fc.subarray(all, { minLength: Math.ceil(all.length / 2) }).chain((base) =>
    fc.record({
      base: fc.constant(base),
      file: arbitraryEdit(all, base, ['edited', 'edited', 'removed']),
      current: arbitraryEdit(all, base, ['edited', 'edited', 'removed', 'replaced']),
      isPruning: fc.boolean(),
    }),
  ),
)

const byId = (a: CatalogPlan, b: CatalogPlan) => a.id - b.id

function applyMerge(current: readonly CatalogPlan[], { put, removedIds }: CatalogMerge): CatalogPlan[] {
  const gone = new Set([...removedIds, ...put.map(({ id }) => id)])
  return [...current.filter(({ id }) => !gone.has(id)), ...put].toSorted(byId)
}

const findPlan = (plans: readonly CatalogPlan[], { id, identifier }: CatalogPlan) =>
  plans.find((plan) => plan.id === id && plan.identifier === identifier)

/** The paths of the values that two plans don't share, except for `isInvestable`, which follows from the note. */
function findChanges(from: CatalogPlan, to: CatalogPlan): string[] {
  return [...comparePlans(from, to).keys()].filter((path) => path !== 'isInvestable')
}

const readPath = (plan: CatalogPlan | undefined, path: string) => comparePlans(null, plan ?? null).get(path)?.to

describe('for any catalog', () => {
  test('a file that was not edited changes nothing, whatever happened since the export', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, current, isPruning }) => {
        const merged = merge({ base, file: base, current, isPruning })
        expect(merged.conflicts).toEqual([])
        expect(applyMerge(current, merged)).toEqual(current)
      }),
    )
  })

  test('a merge into the exported catalog gives exactly the file', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, file }) => {
        const current = base
        const kept = base.filter(({ id }) => !file.some((plan) => plan.id === id))
        const added = merge({ base, file, current })
        expect(added.conflicts).toEqual([])
        expect(applyMerge(current, added)).toEqual([...kept, ...file].toSorted(byId))
        expect(applyMerge(current, merge({ base, file, current, isPruning: true }))).toEqual(file)
      }),
    )
  })

  test('every merged plan is valid, and without a conflict has the changes of both sides', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, file, current, isPruning }) => {
        const merged = merge({ base, file, current, isPruning })
        for (const plan of merged.put) expect(catalogPlanSchema.parse(plan)).toEqual(plan)
        if (merged.conflicts.length > 0) return
        const result = applyMerge(current, merged)
        for (const before of base) {
          const plan = findPlan(result, before)
          for (const side of [findPlan(file, before), findPlan(current, before)])
            for (const name of side && plan ? findChanges(before, side) : [])
              expect(readPath(plan, name)).toBe(readPath(side, name))
        }
      }),
    )
  })
})
