// A catalog as a spreadsheet: one row for each plan.
import { nameSome } from '../../../abbreviate.ts'
import { isJsonObject, readPath } from '../../../json.ts'
import { findContradictions, listDefects, type CatalogFile } from './catalog-file.ts'
import { makeDefectError, type Place } from './defect.ts'
import { fillOlderPlan } from './older-plan.ts'
import { encodeCell, type CellFormat } from './plan-cells.ts'
import { columnsWithoutAmounts, listColumns, planFields, type PlanColumn } from './plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import {
  formatCatalogOrigin,
  readFields,
  originColumn,
  readPlanTable,
  type PlanRow,
  type PlanTable,
  type Sheet,
  type Spreadsheet,
} from './plan-table.ts'

/** Writes a row for each plan, or without plans one row with only the origin. @param isWanted tells if the sheet gets a column such as `category.id`. */
export function formatCatalogSheet(
  { plans, origin }: CatalogFile,
  format: CellFormat,
  isWanted: (column: string) => boolean = () => true,
): Sheet {
  const columns = listColumns(plans).filter(({ name }) => isWanted(name))
  const originCells = origin ? [formatCatalogOrigin(origin)] : []
  const rows = plans.map((plan) => [
    ...columns.map((column) => encodeCell(column.kind, readPath(plan, ...column.name.split('.')), format)),
    ...originCells,
  ])
  if (rows.length === 0) rows.push([...columns.map(() => null), ...originCells])
  const header = [...columns.map(({ name }) => name), ...(origin ? [originColumn] : [])]
  return { name: 'Plans', rows: [header, ...rows] }
}

/** Reads the plans of a spreadsheet. @throws UserError with a line for each defect. */
export function parseCatalogSheets(spreadsheet: Spreadsheet): CatalogFile {
  const table = readPlanTable(spreadsheet)
  const { columns, rows, headerPlace, origin, sheet, notes } = table
  const defects = [...table.defects]
  const presentNames = new Set(columns.map(({ name }) => name))
  const missingColumns = columnsWithoutAmounts.filter((column) => !presentNames.has(column.name) && !isOptional(column))
  if (missingColumns.length > 0) {
    const fix = 'Take a file of catalog export as the template. To change only some fields, use catalog update.'
    const expected = `the columns ${nameSome(missingColumns.map(({ name }) => name))}`
    defects.push({ place: headerPlace, expected, found: 'none', fix })
  }
  const missingNames = new Set<string | undefined>(missingColumns.flatMap(({ name, field }) => [name, field]))
  const validPlans = new Map<CatalogPlan, Place>()
  for (const row of rows) {
    const fields = readPlanRow(table, row)
    const { data, error } = catalogPlanSchema.safeParse(fields)
    if (data) validPlans.set(data, row.place)
    // Reports a missing column once, above, and not for each row.
    else defects.push(...listDefects(error, fields, row.place).filter(({ place }) => !missingNames.has(place.field)))
  }
  defects.push(...findContradictions(validPlans))
  if (defects.length > 0) throw makeDefectError(defects)
  return { plans: [...validPlans.keys()], origin, sheet, notes }
}

/** Tells if a file may lack a column, because the schema has a default for the column's field or member. */
function isOptional({ field, member = '' }: PlanColumn): boolean {
  const fieldsWithDefault = fillOlderPlan({})
  const membersWithDefault = fillOlderPlan({ [field]: {} })[field] ?? {}
  return field in fieldsWithDefault || member in membersWithDefault
}

/** Reads all fields of a plan. An object whose cells are all empty is null. Amounts get only the currencies whose cell is not empty. */
function readPlanRow(table: PlanTable, row: PlanRow): Record<string, unknown> {
  const plan = readFields(table, row, { isPartial: false })
  for (const { name, shape } of planFields) {
    if ('kind' in shape) continue
    const object = plan[name]
    const members = isJsonObject(object) ? Object.entries(object) : []
    const filledMembers = members.filter(([, value]) => value !== null)
    if ('amounts' in shape) plan[name] = Object.fromEntries(filledMembers)
    else if (filledMembers.length === 0 && members.length > 0) plan[name] = null
  }
  return plan
}
