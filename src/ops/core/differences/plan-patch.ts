// Patches: changes of some fields of a plan, from the row of a spreadsheet or from a command line. Pure.
import { isJsonObject } from '../../../json.ts'
import { listSharedObjects } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { listDefects, type CatalogFile } from '../file-formats/catalog-file.ts'
import { makeUnknownNameDefect, type Defect, type Place } from '../file-formats/defect.ts'
import { decodeCell, describeValue } from '../file-formats/plan-cells.ts'
import { findColumn, listColumns, planFields } from '../file-formats/plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { readFields, readPlanTable, type Spreadsheet } from '../file-formats/plan-table.ts'

export interface FieldPatch {
  /**
   * The new value of each field, or of each member of an object that changes, such as
   * `{ performance1: 12.4, category: { id: 5 }, minTopUpAmounts: { KES: null } }`.
   */
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

/** Reads a patch from each row. Empty cells change nothing. @throws UserError when the spreadsheet has no sheet of plans. */
export function parseUpdateSheets(spreadsheet: Spreadsheet): CatalogUpdate {
  const table = readPlanTable(spreadsheet)
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

/** Reads `name=value` words of a command line, such as `minTopUpAmounts.KES=500`. */
export function parseAssignments(assignments: readonly string[]): FieldPatch & { defects: Defect[] } {
  const command: Place = { kind: 'command', owner: '' }
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
      defects.push(makeUnknownNameDefect(command, 'field', name, names))
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

/** The objects that plans share, such as categories, by field and ID. */
type SharedObjects = ReadonlyMap<string, object>

const keyOf = (field: string, id: unknown) => `${field} ${String(id)}`

export function indexShared(plans: readonly CatalogPlan[]): SharedObjects {
  return new Map(
    plans.flatMap((plan) => listSharedObjects(plan).map(({ field, id, value }) => [keyOf(field, id), value])),
  )
}

/**
 * Applies a patch to a plan, and checks the result.
 * @param shared the objects that the patch may refer to by their IDs.
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
  // A patch of the note alone closes or opens the plan.
  if (patched['isInvestable'] === known.isInvestable) patched['isInvestable'] = patched['nonInvestableNote'] === null
  if (isSameJson(known, patched)) return { plan: known }
  const { data, error } = catalogPlanSchema.safeParse(patched)
  if (data) return { plan: data }
  const defects = listDefects(error, patched, place)
  for (const defect of defects) {
    const [name = ''] = defect.place.field?.split('.') ?? []
    // An object with an ID that no plan has gets only the members of the patch.
    const isUnknown = readObject(fields[name])['id'] !== undefined && patched[name] === fields[name]
    if (isUnknown) defect.fix = `No plan has this ${name}.id: is it mistyped?`
  }
  return { defects }
}

/** @param value a new value; of an object or of amounts, the members that change. */
function patchField(name: string, known: unknown, value: unknown, shared: SharedObjects): unknown {
  const shape = planFields.find((field) => field.name === name)?.shape
  if (!isJsonObject(value) || shape === undefined || 'kind' in shape) return value
  if ('members' in shape) return patchObject(name, known, value, shared)
  return Object.fromEntries(Object.entries({ ...readObject(known), ...value }).filter(([, amount]) => amount !== null))
}

function readObject(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {}
}

/**
 * Patches an object such as a category. With the ID of another known object, takes that object, then the members that the patch changes. With
 * an unknown ID, takes only what the patch gives.
 */
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
 * Applies the patches of a file to the plans that they name.
 * @param known the plans of the catalog.
 * @returns the patched plans, and all defects of the file: when there is one, the plans are not complete.
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
      const fix =
        suggestName(identifier, [...plansByIdentifier.keys()]) ??
        'If the row is not a plan, delete it. To add a plan, use catalog import.'
      defects.push({ place, expected, found: describeValue(identifier), fix })
      continue
    }
    const applied = applyPatch(plan, patch, shared)
    if ('plan' in applied) plans.push(applied.plan)
    else defects.push(...applied.defects)
  }
  return { plans, defects }
}
