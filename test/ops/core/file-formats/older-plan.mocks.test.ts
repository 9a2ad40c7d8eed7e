// A new field with a default needs no change of the code outside the schema.
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { parseCatalog } from '../../../../src/ops/core/file-formats/catalog-file.ts'
import { formatCatalogSheet, parseCatalogSheets } from '../../../../src/ops/core/file-formats/catalog-sheet.ts'
import { fillOlderPlan } from '../../../../src/ops/core/file-formats/older-plan.ts'
import type { Cell } from '../../../../src/ops/core/file-formats/plan-cells.ts'
import { describePlan } from '../../../../src/openapi/plan-json-schema.ts'
import { makePlan } from '../../../support/make-plan.ts'

vi.mock('../../../../src/catalog/plan-schema.ts', async (importOriginal) => {
  const schema = await importOriginal<typeof import('../../../../src/catalog/plan-schema.ts')>()
  const { field, nonNegativeInteger, planSchema } = schema
  const icon = field(z.string(), 'Icon.', 'sun').default('leaf')
  const added = {
    category: planSchema.shape.category.unwrap().extend({ icon }).nullable(),
    indexName: field(z.string().max(200), 'Index.', 'NSE 20').default('None'),
    advisor: z
      .strictObject({ id: field(nonNegativeInteger, 'ID.', 7) })
      .nullable()
      .default(null),
    fees: z
      .strictObject({ yearly: field(nonNegativeInteger, 'Yearly.', 2), exit: field(nonNegativeInteger, 'Exit.', 1) })
      .default({ yearly: 0, exit: 0 }),
  }
  const catalogPlanSchema = schema.catalogPlanSchema.safeExtend(added)
  return { ...schema, planSchema: planSchema.extend(added), catalogPlanSchema }
})

const plan = makePlan()
const newFields = { advisor: {}, indexName: '', fees: {} }
const { advisor: _advisor, indexName: _indexName, fees: _fees, ...fields } = { ...plan, ...newFields }
const older = { ...fields, category: { id: 3, name: 'Cash', displayName: 'Save', tagLine: 'Low risk' } }
const filled = {
  ...older,
  category: { ...older.category, icon: 'leaf' },
  indexName: 'None',
  advisor: null,
  fees: { yearly: 0, exit: 0 },
}
const format = { isCsv: false }

test('an example has the field, and an older plan its value for older plans, in the order of the schema', () => {
  expect(plan).toMatchObject({ category: { icon: 'sun' }, indexName: 'NSE 20', advisor: { id: 7 } })
  expect(fillOlderPlan(plan)).toBe(plan)
  expect(JSON.stringify(fillOlderPlan(older))).toBe(JSON.stringify(filled))
})

test('files of older plans are read', () => {
  expect(parseCatalog(JSON.stringify({ plans: [older] }))).toMatchObject({ plans: [filled] })
  const { rows, ...sheet } = formatCatalogSheet({ plans: [{ ...plan, category: older.category }] }, format)
  const added = ['category.icon', 'advisor.id', 'indexName', 'fees.yearly', 'fees.exit'].map((name) =>
    rows[0]?.indexOf(name),
  )
  const olderRows = rows.map((row) => row.filter((_, index) => !added.includes(index)))
  expect(olderRows[0]).toHaveLength((rows[0]?.length ?? 0) - added.length)
  expect(parseCatalogSheets({ sheets: [{ ...sheet, rows: olderRows }], format })).toMatchObject({ plans: [filled] })
})

test('a plan with a part of an object is refused', () => {
  const { rows, ...sheet } = formatCatalogSheet({ plans: [plan] }, format)
  const [names = [], cells = []] = rows
  const edit = (isKept: (name: Cell) => boolean, isFilled: (name: Cell) => boolean) => {
    const kept = names.filter(isKept)
    const row = kept.map((name) => (isFilled(name) ? (cells[names.indexOf(name)] ?? null) : null))
    return () => parseCatalogSheets({ sheets: [{ ...sheet, rows: [kept, row] }], format })
  }
  const lacksExit = edit(
    (name) => name !== 'fees.exit',
    () => true,
  )
  expect(lacksExit).toThrow('row 2, column fees.exit: expected an integer')
  const hasEmptyCells = edit(
    () => true,
    (name) => name !== 'fees.exit' && name !== 'fees.yearly',
  )
  expect(hasEmptyCells).toThrow('row 2, column fees: ')
})

test('partners always get the field', () => {
  const { plan: schema, objects } = describePlan()
  expect(schema.required).toEqual(expect.arrayContaining(['indexName', 'advisor']))
  expect(schema.properties['indexName']).not.toHaveProperty('default')
  expect(objects['PlanCategory']).toMatchObject({ required: expect.arrayContaining(['icon']) })
  expect(Object.keys(objects)).toContain('Advisor')
})
