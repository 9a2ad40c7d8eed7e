// Changes of some fields of known plans: from the rows of a spreadsheet, or from a command line. Pure.
import { isJsonObject } from '../../../json.ts'
import { listShared } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { listDefects, type CatalogFile } from '../file-formats/catalog-file.ts'
import { findUnknownName, type Defect, type Place } from '../file-formats/defect.ts'
import { decodeCell, describeValue } from '../file-formats/plan-cells.ts'
import { findColumn, listColumns, planFields } from '../file-formats/plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { findPlanTable, readFields, type Spreadsheet } from '../file-formats/plan-table.ts'

export interface FieldPatch {
  /** Such as `{ performance1: 12.4, category: { id: 5 }, minTopUpAmounts: { KES: null } }`. */
  fields: Readonly<Record<string, unknown>>
  place: Place
}

export interface PlanPatch extends FieldPatch {
  identifier: string
}

/** The patches of a file, and the defects that are found without the catalog. */
export interface CatalogUpdate extends Omit<CatalogFile, 'plans'> {
  patches: PlanPatch[]
  defects: Defect[]
}

/** Reads the rows of a spreadsheet. Empty cells change nothing. */
export function parseUpdateSheets(spreadsheet: Spreadsheet): CatalogUpdate {
  const table = findPlanTable(spreadsheet)
  if (!('rows' in table)) return { patches: [], ...table }
  const defects = [...table.defects]
  const patches = new Map<string, PlanPatch>()
  for (const row of table.rows) {
    const fields = readFields(table, row, true)
    const place: Place = { ...row.place, field: 'identifier' }
    const { identifier } = fields
    if (typeof identifier !== 'string') {
      defects.push({ place, expected: 'the identifier of a plan', found: describeValue(identifier) })
      continue
    }
    const other = patches.get(identifier)
    if (other) {
      defects.push({ place, expected: 'each plan once', found: describeValue(identifier), alsoAt: other.place })
    } else patches.set(identifier, { identifier, fields, place: row.place })
  }
  const { origin, sheet, notes } = table
  return { patches: [...patches.values()], defects, origin, sheet, notes }
}

/** Reads `name=value` words of a command line. */
export function parseAssignments(assignments: readonly string[]): FieldPatch & { defects: Defect[] } {
  const command: Place = { kind: 'command' }
  const defects: Defect[] = []
  const fields: Record<string, unknown> = {}
  const seen = new Set<string>()
  for (const assignment of assignments) {
    const [, name, text = ''] = /^([^=]*)=(.*)$/s.exec(assignment) ?? []
    const complain = (expected: string, found: string) =>
      defects.push({ place: { ...command, field: name }, expected, found })
    if (name === undefined) {
      complain('a field and its value, as name=value', describeValue(assignment))
      continue
    }
    const column = findColumn(name)
    if (column === undefined) {
      const names = listColumns([]).map((known) => known.name)
      defects.push(findUnknownName(command, 'field', name, names))
    } else if ('expected' in column) {
      defects.push({ place: command, expected: `${column.expected} after the dot`, found: describeValue(name) })
    } else if (name === 'id' || name === 'identifier') {
      complain('no value, because partners know the plan by it', describeValue(text))
    } else if (seen.has(name)) complain('one value', 'a second')
    else if (text === '') complain('a value after the equals sign, or null for no value', 'nothing')
    else {
      const value = decodeCell(column.kind, text)
      if (column.member === undefined) fields[name] = value
      else fields[column.field] = { ...readObject(fields[column.field]), [column.member]: value }
    }
    seen.add(name)
  }
  return { fields, place: command, defects }
}

type SharedObjects = ReadonlyMap<string, object>

const keyOf = (field: string, id: unknown) => `${field} ${String(id)}`

/** Indexes the objects that plans share. */
export function indexShared(plans: readonly CatalogPlan[]): SharedObjects {
  return new Map(plans.flatMap((plan) => listShared(plan).map(({ field, id, value }) => [keyOf(field, id), value])))
}

/**
 * Applies a patch to the plan that it names, and checks the result.
 * @returns the plan, the same object when nothing changes, or all defects.
 */
export function applyPatch(
  known: CatalogPlan,
  { fields, place }: FieldPatch,
  shared: SharedObjects,
): { plan: CatalogPlan } | { defects: Defect[] } {
  const patched: Record<string, unknown> = { ...known }
  for (const [name, value] of Object.entries(fields)) {
    patched[name] = patchField(name, Reflect.get(known, name), value, shared)
  }
  // The note decides, unless the patch says otherwise.
  if (patched['isInvestable'] === known.isInvestable) patched['isInvestable'] = patched['nonInvestableNote'] === null
  if (isSameJson(known, patched)) return { plan: known }
  const { data, error } = catalogPlanSchema.safeParse(patched)
  return data ? { plan: data } : { defects: listDefects(error, patched, place) }
}

function patchField(name: string, known: unknown, value: unknown, shared: SharedObjects): unknown {
  const shape = planFields.find((field) => field.name === name)?.shape
  if (!isJsonObject(value) || shape === undefined || 'kind' in shape) return value
  if ('members' in shape) return patchObject(name, known, value, shared)
  return Object.fromEntries(Object.entries({ ...readObject(known), ...value }).filter(([, amount]) => amount !== null))
}

function readObject(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {}
}

/** When the patch gives another ID: takes the known object with that ID, then applies the other members of the patch. */
function patchObject(
  field: string,
  known: unknown,
  given: Record<string, unknown>,
  shared: SharedObjects,
): Record<string, unknown> | null {
  const before = readObject(known)
  const patched = { ...before, ...given }
  if (given['id'] === null || Object.values(patched).every((value) => value === null)) return null
  if (given['id'] === undefined || given['id'] === before['id']) return patched
  const other = shared.get(keyOf(field, given['id']))
  const changed = Object.entries(given).filter(([member, value]) => value !== before[member])
  return other ? { ...other, ...Object.fromEntries(changed) } : given
}

/**
 * Applies patches to the plans that they name.
 * @returns the plans that patches name, and the defects of the file: with any, the plans are not complete.
 */
export function applyPatches(
  { patches, defects: found }: Pick<CatalogUpdate, 'patches' | 'defects'>,
  known: readonly CatalogPlan[],
): { plans: CatalogPlan[]; defects: Defect[] } {
  const plansByIdentifier = new Map(known.map((plan) => [plan.identifier, plan]))
  const shared = indexShared(known)
  const plans: CatalogPlan[] = []
  const defects = [...found]
  for (const { identifier, ...patch } of patches) {
    const plan = plansByIdentifier.get(identifier)
    if (plan === undefined) {
      const expected = 'the identifier of a plan in the catalog'
      const place: Place = { ...patch.place, field: 'identifier' }
      const fix = suggestName(identifier, [...plansByIdentifier.keys()]) ?? 'To add a plan, use catalog import.'
      defects.push({ place, expected, found: describeValue(identifier), fix })
      continue
    }
    const applied = applyPatch(plan, patch, shared)
    if ('plan' in applied) plans.push(applied.plan)
    else defects.push(...applied.defects)
  }
  return { plans, defects }
}
