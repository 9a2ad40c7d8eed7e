// A catalog as a spreadsheet: one row for each plan. Pure.
import { findConflicts, type CatalogFile, type CatalogResult } from './catalog-file.ts'
import { decodeCell, describeCell, encodeCell, isEmptyCell, type CellFormat } from './plan-cells.ts'
import { listColumns, planFields, type PlanColumn } from './plan-columns.ts'
import { fillOlderPlan } from './older-plan.ts'
import { catalogPlanSchema, type CatalogPlan } from './plan-schema.ts'
import {
  findPlanTable,
  formatSource,
  plansSheetName,
  sourceColumn,
  type PlanRow,
  type Sheet,
  type Spreadsheet,
} from './plan-table.ts'

/** Without plans, one row says where the export comes from. */
export function formatCatalogSheet({ plans, ...source }: CatalogFile, format: CellFormat): Sheet {
  const columns = listColumns(plans)
  const text = formatSource(source)
  const sourceCells = text === null ? [] : [text]
  const rows = plans.map((plan) => [
    ...columns.map((column) => encodeCell(column.kind, readMember(plan, column), format)),
    ...sourceCells,
  ])
  if (rows.length === 0 && text !== null) rows.push([...columns.map(() => null), text])
  const header = [...columns.map(({ name }) => name), ...(text === null ? [] : [sourceColumn])]
  return { name: plansSheetName, rows: [header, ...rows], merges: [] }
}

/** @returns undefined when the plan has no such object or amount. */
export function readMember(plan: CatalogPlan, { field, member }: Pick<PlanColumn, 'field' | 'member'>): unknown {
  const value: unknown = Reflect.get(plan, field)
  return member === undefined ? value : Reflect.get(Object(value), member)
}

/** Finds all defects at once, like `parseCatalog`. Each names the sheet, row and column. */
export function parseCatalogSheets(
  spreadsheet: Spreadsheet,
  onChecked: (done: number, total: number) => void = () => {},
): CatalogResult {
  const table = findPlanTable(spreadsheet)
  if ('defect' in table) return { kind: 'invalid', defects: [table.defect] }
  const { columns, rows, format, headerPlace, origin, country } = table
  const defects = new Set(table.defects)
  const isPresent = (name: string) => columns.some((column) => column.name === name)
  const missing = listColumns([]).filter((column) => !isPresent(column.name) && !isOptional(column))
  for (const { name } of missing) defects.add(`${headerPlace}: expected a column ${name}; found none.`)
  if (defects.size > 0) return { kind: 'invalid', defects: [...defects] }
  const plans: CatalogPlan[] = []
  for (const [index, row] of rows.entries()) {
    onChecked(index, rows.length)
    const { data, error } = catalogPlanSchema.safeParse(readPlan(row, columns, format))
    if (data) plans.push(data)
    for (const { path, message } of error?.issues ?? []) {
      const name = nameColumn(path)
      defects.add(`${row.place}, column ${name}: expected ${message}; found ${describeCell(row.cells.get(name))}.`)
    }
  }
  for (const conflict of findConflicts(plans)) defects.add(conflict)
  return defects.size > 0 ? { kind: 'invalid', defects: [...defects] } : { kind: 'catalog', plans, origin, country }
}

/** Whether files of older plans lack the column. */
function isOptional({ field, member = '' }: PlanColumn): boolean {
  const { [field]: members = {} } = fillOlderPlan({ [field]: {} })
  return field in fillOlderPlan({}) || member in members
}

/** Names the column of a path in a plan. A list is in one cell. */
export function nameColumn(path: readonly PropertyKey[]): string {
  return path.filter((part) => typeof part === 'string').join('.')
}

/** An empty cell is null, and an object whose cells are all empty is null. A field without a column gets its value for older plans. */
function readPlan({ cells }: PlanRow, columns: readonly PlanColumn[], format: CellFormat): Record<string, unknown> {
  const plan: Record<string, unknown> = {}
  for (const { name: field, shape } of planFields) {
    const values = columns
      .filter((column) => column.field === field)
      .map(({ name, member = '', kind }): [string, unknown] => {
        const cell = cells.get(name) ?? null
        return [member, isEmptyCell(cell) ? null : decodeCell(kind, cell, format)]
      })
    if (values.length === 0 && !('amounts' in shape)) continue
    const given = values.filter(([, value]) => value !== null)
    if ('amounts' in shape) plan[field] = Object.fromEntries(given)
    else if ('members' in shape) plan[field] = given.length > 0 ? Object.fromEntries(values) : null
    else plan[field] = given[0]?.[1] ?? (shape.kind === 'list' ? [] : null)
  }
  return plan
}
