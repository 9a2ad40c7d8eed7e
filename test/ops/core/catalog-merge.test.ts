import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { catalogPlanSchema, type CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  formatConflict,
  mergeCatalog,
  type CatalogMerge,
  type MergeInput,
} from '../../../src/ops/core/catalog-merge.ts'
import { arbitraryCatalog, makePlan } from '../../support/make-plan.ts'

const merge = (input: Partial<MergeInput>) =>
  mergeCatalog({
    base: [makePlan()],
    file: [makePlan()],
    current: [makePlan()],
    isPruning: false,
    country: undefined,
    decision: 'refuse',
    ...input,
  })

const closed = { isInvestable: false, nonInvestableNote: 'Sold out.' }
const ours = { decision: 'ours' } as const
const theirs = { decision: 'theirs' } as const

describe('a file with a revision', () => {
  test('keeps what changed after the export: a closed plan stays closed, a withdrawn one withdrawn', () => {
    const merged = merge({
      base: [makePlan({ id: 1 }), makePlan({ id: 2 })],
      file: [makePlan({ id: 1, name: 'New' }), makePlan({ id: 2, tenor: 'Five years' })],
      current: [makePlan({ id: 1, ...closed }), makePlan({ id: 2, viewableIn: [] })],
    })
    expect(merged).toEqual({
      put: [makePlan({ id: 1, name: 'New', ...closed }), makePlan({ id: 2, tenor: 'Five years', viewableIn: [] })],
      removedIds: [],
      conflicts: [],
    })
  })

  test('conflicts where both changed one field to different values', () => {
    const input = { file: [makePlan({ name: 'A', hint: 'Same' })], current: [makePlan({ name: 'B', hint: 'Same' })] }
    expect(merge(input).conflicts).toEqual([
      { identifier: 'plan-1', field: 'name', base: makePlan().name, file: 'A', current: 'B' },
    ])
    expect(merge({ ...input, ...ours })).toEqual({ put: input.file, removedIds: [], conflicts: [] })
    expect(merge({ ...input, ...theirs })).toEqual({ put: input.current, removedIds: [], conflicts: [] })
  })

  test('merges each currency and each country on its own', () => {
    const merged = merge({
      base: [makePlan({ minTopUpAmounts: { KES: 1, UGX: 1 }, viewableIn: ['KE', 'UG'] })],
      file: [makePlan({ minTopUpAmounts: { KES: 2, UGX: 1 }, viewableIn: ['UG', 'TZ', 'KE'] })],
      current: [makePlan({ minTopUpAmounts: { KES: 1, USD: 3 }, viewableIn: ['RW', 'UG'] })],
    })
    expect(merged.conflicts).toEqual([])
    expect(merged.put).toEqual([makePlan({ minTopUpAmounts: { KES: 2, USD: 3 }, viewableIn: ['RW', 'TZ', 'UG'] })])
  })

  test('conflicts where one side removed an amount and the other changed it', () => {
    const input = { file: [makePlan({ minTopUpAmounts: {} })], current: [makePlan({ minTopUpAmounts: { KES: 2 } })] }
    expect(merge(input).conflicts).toEqual([
      { identifier: 'plan-1', field: 'minTopUpAmounts.KES', base: 500, file: undefined, current: 2 },
    ])
    expect(merge({ ...input, ...ours }).put).toEqual(input.file)
    expect(merge({ ...input, ...theirs }).put).toEqual(input.current)
  })

  test('keeps the note with isInvestable', () => {
    const file = [makePlan({ isInvestable: false, nonInvestableNote: 'Paused.' })]
    const input = { file, current: [makePlan(closed)] }
    expect(merge(input).conflicts).toEqual([
      { identifier: 'plan-1', field: 'nonInvestableNote', base: null, file: 'Paused.', current: 'Sold out.' },
    ])
    expect(merge({ ...input, ...ours }).put).toEqual(file)
    expect(merge({ file }).put).toEqual(file)
    expect(merge({ base: [makePlan(closed)], file, current: [makePlan(closed)] }).put).toEqual(file)
  })

  test('leaves a plan removed that was removed after the export, unless the file changes it', () => {
    expect(merge({ current: [] })).toEqual({ put: [], removedIds: [], conflicts: [] })
    const input = { file: [makePlan({ name: 'New' })], current: [] }
    expect(merge(input).conflicts).toMatchObject([{ field: undefined, file: input.file[0], current: undefined }])
    expect(merge({ ...input, ...ours })).toEqual({ put: input.file, removedIds: [], conflicts: [] })
    expect(merge({ ...input, ...theirs })).toEqual({ put: [], removedIds: [], conflicts: [] })
  })

  test('adds a new plan, and conflicts with one that was added after the export', () => {
    expect(merge({ base: [], current: [] }).put).toEqual([makePlan()])
    expect(merge({ base: [] })).toEqual({ put: [makePlan()], removedIds: [], conflicts: [] })
    const current = [makePlan({ tenor: 'Five years', viewableIn: ['KE', 'UG'] })]
    expect(merge({ base: [], current }).conflicts).toEqual([
      { identifier: 'plan-1', field: 'tenor', base: undefined, file: 'Open-ended', current: 'Five years' },
      { identifier: 'plan-1', field: 'viewableIn.UG', base: false, file: false, current: true },
    ])
    expect(merge({ base: [], current, ...ours }).put).toEqual([makePlan()])
  })

  test('never merges fields into another plan that got the same ID', () => {
    const input = { file: [makePlan({ name: 'New' })], current: [makePlan({ identifier: 'other' })] }
    expect(merge(input).conflicts).toMatchObject([{ identifier: 'plan-1', field: undefined, current: undefined }])
    expect(merge({ ...input, ...theirs }).put).toEqual([])
    expect(merge({ ...input, file: [], isPruning: true })).toEqual({ put: [], removedIds: [], conflicts: [] })
    // The import refuses a plan whose identifier changed.
    const renamed = [makePlan({ identifier: 'other' })]
    expect(merge({ file: renamed, isPruning: true })).toEqual({ put: renamed, removedIds: [], conflicts: [] })
  })
})

describe('pruning', () => {
  const base = [makePlan({ id: 1 }), makePlan({ id: 2 }), makePlan({ id: 3 })]
  const file = base.slice(0, 1)

  test('removes plans that are not in the file, but none that was added after the export', () => {
    const current = [makePlan({ id: 1 }), makePlan({ id: 3 }), makePlan({ id: 4 })]
    expect(merge({ base, file, current })).toEqual({ put: file, removedIds: [], conflicts: [] })
    expect(merge({ base, file, current, isPruning: true })).toEqual({ put: file, removedIds: [3], conflicts: [] })
  })

  test('conflicts where a plan to be removed was changed', () => {
    const current = [...base.slice(0, 2), makePlan({ id: 3, ...closed })]
    const input = { base, file, current, isPruning: true }
    expect(merge(input)).toMatchObject({ removedIds: [2], conflicts: [{ identifier: 'plan-3', file: undefined }] })
    expect(merge({ ...input, ...ours })).toEqual({ put: file, removedIds: [2, 3], conflicts: [] })
    expect(merge({ ...input, ...theirs })).toEqual({ put: file, removedIds: [2], conflicts: [] })
  })

  test.each([true, false])('in one country takes plans off its list, and removes none (revision: %s)', (hasBase) => {
    const catalog = [
      makePlan({ id: 1 }),
      makePlan({ id: 2, viewableIn: ['KE', 'UG'] }),
      makePlan({ id: 3, viewableIn: ['UG'] }),
    ]
    const input = { base: hasBase ? catalog : undefined, file, current: catalog, isPruning: true, country: 'KE' }
    const taken = makePlan({ id: 2, viewableIn: ['UG'] })
    expect(merge(input)).toEqual({ put: [...file, taken], removedIds: [], conflicts: [] })
  })

  test('in one country leaves plans that came onto its list after the export', () => {
    const current = [makePlan({ id: 1 }), makePlan({ id: 2, viewableIn: ['KE', 'UG'] })]
    const before = [makePlan({ id: 1 }), makePlan({ id: 2, viewableIn: ['UG'] })]
    expect(merge({ base: before, file, current, isPruning: true, country: 'KE' }).put).toEqual(file)
  })
})

test('a file without a revision replaces its plans, and pruning removes all others', () => {
  const current = [makePlan({ id: 1, ...closed }), makePlan({ id: 2 })]
  expect(merge({ base: undefined, current })).toEqual({ put: [makePlan()], removedIds: [], conflicts: [] })
  const pruned = merge({ base: undefined, current, isPruning: true })
  expect(pruned).toEqual({ put: [makePlan()], removedIds: [2], conflicts: [] })
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
    'Plan "plan-1": minTopUpAmounts.KES: the file says nothing; the catalog says 2.',
    'Plan "plan-2": the file changes it; it was removed from the catalog.',
    'Plan "plan-3": the file removes it; it was changed in the catalog.',
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

const inKenya = ({ viewableIn }: CatalogPlan) => viewableIn.includes('KE')

/** What an export holds, how the operator edited it, and what happened to the catalog meanwhile. */
const arbitraryCase = fc.tuple(arbitraryCatalog, fc.constantFrom('KE', undefined)).chain(([all, country]) =>
  fc.subarray(all, { minLength: Math.ceil(all.length / 2) }).chain((base) => {
    const exported = country === undefined ? base : base.filter(inKenya)
    const exportable = all.filter((plan) => exported.includes(plan) || (!base.includes(plan) && inKenya(plan)))
    return fc.record({
      base: fc.constant(base),
      exported: fc.constant(exported),
      country: fc.constant(country),
      file: arbitraryEdit(country === undefined ? all : exportable, base, ['edited', 'edited', 'removed']),
      current: arbitraryEdit(all, base, ['edited', 'edited', 'removed', 'replaced']),
      isPruning: fc.boolean(),
    })
  }),
)

const byId = (a: CatalogPlan, b: CatalogPlan) => a.id - b.id

function applyMerge(current: readonly CatalogPlan[], { put, removedIds }: CatalogMerge): CatalogPlan[] {
  const gone = new Set([...removedIds, ...put.map(({ id }) => id)])
  return [...current.filter(({ id }) => !gone.has(id)), ...put].toSorted(byId)
}

const findPlan = (plans: readonly CatalogPlan[], { id, identifier }: CatalogPlan) =>
  plans.find((plan) => plan.id === id && plan.identifier === identifier)

/** The values that are merged on their own, as JSON by name. */
function listValues(plan: CatalogPlan): Map<string, string> {
  const { minInvestableAmounts, minTopUpAmounts, viewableIn, isInvestable: _, ...fields } = plan
  const countries = Object.fromEntries(viewableIn.map((country) => [country, true]))
  const groups = Object.entries({ '': fields, minInvestableAmounts, minTopUpAmounts, viewableIn: countries })
  return new Map(
    groups.flatMap(([group, values]) =>
      Object.entries(values).map(([name, value]) => [`${group}.${name}`, JSON.stringify(value)] as const),
    ),
  )
}

/** The names of the values that two plans don't share. */
function findChanges(from: CatalogPlan, to: CatalogPlan): string[] {
  const [a, b] = [listValues(from), listValues(to)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name))
}

describe('for any catalog', () => {
  test('a file that was not edited changes nothing, whatever happened since the export', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, exported, country, current, isPruning }) => {
        const merged = merge({ base, file: exported, current, isPruning, country })
        expect(merged.conflicts).toEqual([])
        expect(applyMerge(current, merged)).toEqual(current)
      }),
    )
  })

  test('a merge into the exported catalog gives exactly the file', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, file, country }) => {
        const current = base
        const kept = base.filter(({ id }) => !file.some((plan) => plan.id === id))
        const added = merge({ base, file, current, country })
        expect(added.conflicts).toEqual([])
        expect(applyMerge(current, added)).toEqual([...kept, ...file].toSorted(byId))
        expect(applyMerge(current, merge({ base, file, current, isPruning: true }))).toEqual(file)
      }),
    )
  })

  test('the changes of two operators to different fields are both there, in whatever order they are imported', () => {
    const planEdits = fc.record({
      split: fc.array(fc.constantFrom('first', 'second', 'nobody'), { minLength: 40, maxLength: 40 }),
      donors: fc.tuple(arbitraryCatalog, arbitraryCatalog),
      isPruned: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
    })
    fc.assert(
      fc.property(arbitraryCatalog, planEdits, (base, { split, donors, isPruned }) => {
        const edit = (operator: string, country: string, catalog: CatalogPlan[]) =>
          base.map((plan, index) => {
            const isMine = (_: string, field: number) => split[(field + index) % split.length] === operator
            const fields = editableFields.filter((name) => name !== 'viewableIn').filter(isMine)
            // Both edit the countries of every plan, each another one.
            const countries = new Set(plan.viewableIn)
            if (!countries.delete(country)) countries.add(country)
            return { ...editPlan(plan, catalog[index % catalog.length], fields), viewableIn: [...countries].toSorted() }
          })
        // The first operator also removes plans, which the second one leaves alone.
        const first = edit('first', 'KE', donors[0]).filter((_, index) => !isPruned[index])
        const second = edit('second', 'UG', donors[1]).map((plan, index) => (isPruned[index] ? base[index] : plan))
        const files = [first, second.filter((plan) => plan !== undefined)] as const
        const importBoth = (order: readonly CatalogPlan[][]) =>
          order.reduce((current, file) => {
            const merged = merge({ base, file, current, isPruning: true })
            expect(merged.conflicts).toEqual([])
            return applyMerge(current, merged)
          }, base)

        const result = importBoth(files)
        expect(importBoth(files.toReversed())).toEqual(result)
        expect(result.map(({ id }) => id)).toEqual(first.map(({ id }) => id))
        for (const plan of result) {
          const before = findPlan(base, plan) ?? plan
          const expected = new Map(listValues(before))
          for (const edited of files.map((file) => findPlan(file, plan) ?? before))
            for (const name of findChanges(before, edited)) {
              const value = listValues(edited).get(name)
              if (value === undefined) expected.delete(name)
              else expected.set(name, value)
            }
          expect(Object.fromEntries(listValues(plan))).toEqual(Object.fromEntries(expected))
        }
      }),
    )
  })

  test('a decision leaves no conflict and no other side’s change behind, and every merged plan is valid', () => {
    fc.assert(
      fc.property(arbitraryCase, ({ base, file, current, country, isPruning }) => {
        const input = { base, file, current, country, isPruning }
        const [refused, withOurs, withTheirs] = [
          merge(input),
          merge({ ...input, ...ours }),
          merge({ ...input, ...theirs }),
        ]
        for (const { put } of [refused, withOurs, withTheirs])
          for (const plan of put) expect(catalogPlanSchema.parse(plan)).toEqual(plan)
        expect([...withOurs.conflicts, ...withTheirs.conflicts]).toEqual([])
        const isFree = refused.conflicts.length === 0
        const isSame = [withOurs, withTheirs].map((decided) => isDeepStrictEqual(decided, refused))
        expect(isSame).toEqual([isFree, isFree])
        expect(isDeepStrictEqual(withOurs, withTheirs)).toBe(isFree)

        const [oursResult, theirsResult] = [applyMerge(current, withOurs), applyMerge(current, withTheirs)]
        for (const before of base) {
          const [edited, now] = [findPlan(file, before), findPlan(current, before)]
          const merged = { ours: findPlan(oursResult, before), theirs: findPlan(theirsResult, before) }
          for (const name of edited ? findChanges(before, edited) : [])
            expect(merged.ours && listValues(merged.ours).get(name)).toBe(edited && listValues(edited).get(name))
          for (const name of now ? findChanges(before, now) : [])
            expect(merged.theirs && listValues(merged.theirs).get(name)).toBe(now && listValues(now).get(name))
        }
      }),
    )
  })

  test('a file of one country takes other plans off that country’s list at most', () => {
    const kenyan = arbitraryCase.filter(({ country }) => country !== undefined)
    fc.assert(
      fc.property(kenyan, fc.boolean(), ({ base, file, current, country, isPruning }, hasBase) => {
        const merged = merge({ base: hasBase ? base : undefined, file, current, country, isPruning, ...ours })
        expect(merged.removedIds).toEqual([])
        const isExpected = (plan: CatalogPlan) => {
          if (findPlan(file, plan)) return true
          const now = findPlan(current, plan)
          const changes = now && findChanges(now, plan)
          if (changes?.length === 0) return true
          const exported = hasBase ? findPlan(base, plan) : now
          return isPruning && exported && inKenya(exported) && isDeepStrictEqual(changes, ['viewableIn.KE'])
        }
        expect(applyMerge(current, merged).filter((plan) => !isExpected(plan))).toEqual([])
      }),
    )
  })
})
