// A catalog as a spreadsheet: one row for each plan. Pure.
import type { z } from 'zod'
import { readPath } from '../json.ts'
import { findConflicts, type CatalogFile, type CatalogResult } from './catalog-file.ts'
import type { Defect, Place } from './defect.ts'
import { fillOlderPlan } from './older-plan.ts'
import { describeValue, encodeCell, type CellFormat } from './plan-cells.ts'
import { listColumns, planFields, type PlanColumn } from './plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from './plan-schema.ts'
import {
  adviseOnNumbers,
  findPlanTable,
  formatSource,
  plansSheetName,
  readFields,
  sourceColumn,
  type PlanRow,
  type PlanTable,
  type Sheet,
  type Spreadsheet,
} from './plan-table.ts'

/** Without plans, one row says where the export comes from. */
export function formatCatalogSheet({ plans, ...source }: CatalogFile, format: CellFormat): Sheet {
  const columns = listColumns(plans)
  const text = formatSource(source)
  const sourceCells = text === null ? [] : [text]
  const rows = plans.map((plan) => [
    ...columns.map((column) => encodeCell(column.kind, readPath(plan, ...column.name.split('.')), format)),
    ...sourceCells,
  ])
  if (rows.length === 0 && text !== null) rows.push([...columns.map(() => null), text])
  const header = [...columns.map(({ name }) => name), ...(text === null ? [] : [sourceColumn])]
  return { name: plansSheetName, rows: [header, ...rows], merges: [] }
}

/** Finds all defects at once, like `parseCatalog`. */
export function parseCatalogSheets(
  spreadsheet: Spreadsheet,
  onChecked: (done: number, total: number) => void = () => {},
  known: Iterable<CatalogPlan> = [],
): CatalogResult {
  const table = findPlanTable(spreadsheet)
  if (!('rows' in table)) return { kind: 'invalid', ...table, advice: [] }
  const { columns, rows, headerPlace, origin, country } = table
  const defects = [...table.defects]
  const present = new Set(columns.map(({ name }) => name))
  for (const column of listColumns([])) {
    if (present.has(column.name) || isOptional(column)) continue
    defects.push({ place: headerPlace, expected: `a column ${column.name}`, found: 'none' })
  }
  const places = new Map<CatalogPlan, Place>()
  for (const [index, row] of rows.entries()) {
    onChecked(index, rows.length)
    const fields = readPlan(table, row)
    const { data, error } = catalogPlanSchema.safeParse(fields)
    if (data) places.set(data, row.place)
    if (error)
      defects.push(
        ...listCellDefects(error, fields, row.place).filter(({ place: { field = '' } }) => present.has(field)),
      )
  }
  const plans = [...places.keys()]
  defects.push(...findConflicts(plans, (plan) => places.get(plan), known))
  if (defects.length > 0) return { kind: 'invalid', defects, advice: adviseOnNumbers(table) }
  return { kind: 'catalog', plans, origin, country }
}

/** Whether files of older plans lack the column. */
function isOptional({ field, member = '' }: PlanColumn): boolean {
  const { [field]: members = {} } = fillOlderPlan({ [field]: {} })
  return field in fillOlderPlan({}) || member in members
}

/** Lists the defects of cells. A list is in one cell, and a cell without a value is empty. */
export function listCellDefects({ issues }: z.ZodError, fields: object, place: Place): Defect[] {
  return issues.map(({ path, message }) => ({
    place: { ...place, field: path.filter((part) => typeof part === 'string').join('.') },
    expected: message,
    found: describeValue(readPath(fields, ...path) ?? undefined),
  }))
}

/** An object whose cells are all empty is null. A field without a column gets its value for older plans. */
function readPlan(table: PlanTable, row: PlanRow): Record<string, unknown> {
  const plan = readFields(table, row, false)
  for (const { name, shape } of planFields) {
    if ('kind' in shape) continue
    const members = Object.entries(Object(plan[name] ?? {}))
    const given = members.filter(([, value]) => value !== null)
    if ('amounts' in shape) plan[name] = Object.fromEntries(given)
    else if (given.length === 0 && members.length > 0) plan[name] = null
  }
  return plan
}
