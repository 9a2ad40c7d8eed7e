// A catalog as a spreadsheet: one row for each plan. Pure.
import { nameSome } from '../../../abbreviate.ts'
import { isJsonObject, readPath } from '../../../json.ts'
import { findContradictions, listDefects, type CatalogFile, type CatalogResult } from './catalog-file.ts'
import type { Place } from './defect.ts'
import { fillOlderPlan } from './older-plan.ts'
import { encodeCell, type CellFormat } from './plan-cells.ts'
import { listColumns, planFields, type PlanColumn } from './plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import {
  findPlanTable,
  formatCatalogOrigin,
  plansSheetName,
  readFields,
  originColumn,
  type PlanRow,
  type PlanTable,
  type Sheet,
  type Spreadsheet,
} from './plan-table.ts'

/**
 * Without plans, one row says where the export comes from.
 * @param isWanted whether the sheet has a column.
 */
export function formatCatalogSheet(
  { plans, origin }: CatalogFile,
  format: CellFormat,
  isWanted: (column: string) => boolean = () => true,
): Sheet {
  const columns = listColumns(plans).filter(({ name }) => isWanted(name))
  const sourceCells = origin ? [formatCatalogOrigin(origin)] : []
  const rows = plans.map((plan) => [
    ...columns.map((column) => encodeCell(column.kind, readPath(plan, ...column.name.split('.')), format)),
    ...sourceCells,
  ])
  if (rows.length === 0) rows.push([...columns.map(() => null), ...sourceCells])
  const header = [...columns.map(({ name }) => name), ...(origin ? [originColumn] : [])]
  return { name: plansSheetName, rows: [header, ...rows] }
}

/** Finds all defects at once, like `parseCatalog`. */
export function parseCatalogSheets(spreadsheet: Spreadsheet): CatalogResult {
  const places = new Map<CatalogPlan, Place>()
  const table = findPlanTable(spreadsheet)
  if (!('rows' in table)) return { kind: 'invalid', ...table }
  const { columns, rows, headerPlace, origin, sheet, notes } = table
  const defects = [...table.defects]
  const present = new Set(columns.map(({ name }) => name))
  const missing = listColumns([]).filter((column) => !present.has(column.name) && !isOptional(column))
  if (missing.length > 0) {
    const fix = 'Take a file of catalog export as the template; or for some fields of known plans, use catalog update.'
    const expected = `the columns ${nameSome(missing.map(({ name }) => name))}`
    defects.push({ place: headerPlace, expected, found: 'none', fix })
  }
  for (const row of rows) {
    const fields = readPlanRow(table, row)
    const { data, error } = catalogPlanSchema.safeParse(fields)
    if (data) places.set(data, row.place)
    if (error)
      defects.push(...listDefects(error, fields, row.place).filter(({ place: { field = '' } }) => present.has(field)))
  }
  const plans = [...places.keys()]
  defects.push(...findContradictions(plans, places))
  if (defects.length > 0) return { kind: 'invalid', defects }
  return { kind: 'catalog', plans, origin, sheet, notes }
}

/** Whether files of older plans lack the column. */
function isOptional({ field, member = '' }: PlanColumn): boolean {
  const { [field]: members = {} } = fillOlderPlan({ [field]: {} })
  return field in fillOlderPlan({}) || member in members
}

/** An object whose cells are all empty is null. A field without a column gets its value for older plans. */
function readPlanRow(table: PlanTable, row: PlanRow): Record<string, unknown> {
  const plan = readFields(table, row, false)
  for (const { name, shape } of planFields) {
    if ('kind' in shape) continue
    const found = plan[name]
    const members = isJsonObject(found) ? Object.entries(found) : []
    const given = members.filter(([, value]) => value !== null)
    if ('amounts' in shape) plan[name] = Object.fromEntries(given)
    else if (given.length === 0 && members.length > 0) plan[name] = null
  }
  return plan
}
