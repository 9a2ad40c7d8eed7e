import { expect, test } from 'vitest'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import {
  describeForgottenReturns,
  describeForgottenMonths,
} from '../../../../src/ops/core/plan-rules/forgotten-figures.ts'
import { makePlan } from '../../../support/make-plan.ts'

const november = { performance1: 13.4, performanceDate: '2026-11-25' }
const change = (id: number, edit: Partial<CatalogPlan>, before = makePlan({ id })) => ({
  planId: id,
  before,
  after: { ...before, ...edit },
})
const other = makePlan({ id: 9 })

test.each<[title: string, edits: Partial<CatalogPlan>[], others: CatalogPlan[], named: string[]]>([
  ['a plan that does not change', [november], [other], ['plan-9 (2026-10-30)']],
  [
    'the forgotten one beside a wrong year',
    [november, november, { performanceDate: '2062-11-30' }],
    [other],
    ['plan-9 (2026-10-30)'],
  ],
  ['no plan whose own date went back', [november, november, { performanceDate: '2025-11-30' }], [], []],
  ['a changed plan without new returns', [november, { hint: 'New' }], [], ['plan-2 (2026-10-30)']],
  [
    'a few, and a count of the others',
    [november],
    [2, 3, 4, 5].map((id) => makePlan({ id })),
    ['plan-2 (2026-10-30), plan-3 (2026-10-30), plan-4 (2026-10-30) and 1 more'],
  ],
  ['no plan of the same month', [november], [{ ...other, performanceDate: '2026-11-01' }], []],
  ['no correction of that month', [november, { performance1: 13, performanceDate: '2026-11-01' }], [], []],
  ['no plan on no list', [november], [{ ...other, viewableIn: [] }], []],
  ['nothing while no date is raised', [{ performance1: 13 }], [other], []],
])('once a date is raised, names %s', (_, edits, others, named) => {
  const changes = edits.map((edit, index) => change(index + 1, edit))
  const notes = describeForgottenMonths(changes, others)
  expect(notes).toEqual(
    named.map(
      (end) => `Most new dates are of 2026-11. These plans are on a country’s list, and have an earlier date: ${end}.`,
    ),
  )
})

test.each<[title: string, fields: Partial<CatalogPlan>, named: string[]]>([
  ['each return without a value in the file', november, ['plan-1 (performance3, performance5, performance10).']],
  ['no return that the file confirms', { ...november, performance3: 11.9, performance5: 10.6, performance10: 9.9 }, []],
  ['none while the date stays', { performance1: 13.4 }, []],
])('beside a new date, names %s', (_, fields, named) => {
  const notes = describeForgottenReturns([change(1, fields)], [{ identifier: 'plan-1', fields }])
  expect(notes).toEqual(named.map((end) => expect.stringContaining(end)))
})

test('a return that the plan never had is not named', () => {
  const young = makePlan({ id: 1, performance3: null, performance5: null, performance10: null })
  expect(describeForgottenReturns([change(1, november, young)], [{ identifier: 'plan-1', fields: november }])).toEqual(
    [],
  )
})
