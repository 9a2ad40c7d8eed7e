// A patch changes some fields of a plan. It comes from a row of a spreadsheet or from a command line.
import { isJsonObject } from '../../../json.ts'
import { listSharedObjects, makeValueKey } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { listDefects, type CatalogFile } from '../file-formats/catalog-file.ts'
import { makeUnknownNameDefect, typedInCommand, type Defect, type Place } from '../file-formats/defect.ts'
import { decodeCell, describeValue } from '../file-formats/plan-cells.ts'
import { columnsWithoutAmounts, findColumn, planFields } from '../file-formats/plan-columns.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { readFields, readPlanTable, type Spreadsheet } from '../file-formats/plan-table.ts'

export interface FieldPatch {
  /** The fields and members that change: `{ performance1: 12.4, category: { id: 5 }, minTopUpAmounts: { KES: null } }`. */
  fields: Readonly<Record<string, unknown>>
  /** Where the patch was typed, for messages about defects. */
  place: Place
}

export type PlanPatch = FieldPatch & { identifier: string }

/** The patches of a file, and the defects that can be found without comparing the patches with the catalog. */
export interface CatalogUpdate extends Omit<CatalogFile, 'plans'> {
  patches: PlanPatch[]
  defects: Defect[]
}

/** Reads a patch from each row. Empty cells change nothing. Returns the defects of rows. @throws UserError as `readPlanTable`. */
export function parseUpdateSheets(spreadsheet: Spreadsheet): CatalogUpdate {
  const table = readPlanTable(spreadsheet)
  const defects = [...table.defects]
  const patches = new Map<string, PlanPatch>()
  for (const row of table.rows) {
    const fields = readFields(table, row, { isPartial: true })
    const place: Place = { ...row.place, field: 'identifier' }
    const { identifier } = fields
    if (typeof identifier !== 'string') {
      defects.push({ place, expected: 'the identifier of a plan', found: describeValue(identifier) })
      continue
    }
    const earlierPatch = patches.get(identifier)
    if (earlierPatch) {
      defects.push({ place, expected: 'each plan once', found: describeValue(identifier), alsoAt: earlierPatch.place })
    } else patches.set(identifier, { identifier, fields, place: row.place })
  }
  const { origin, sheet, notes } = table
  return { patches: [...patches.values()], defects, origin, sheet, notes }
}

/** Reads a patch from words of a command, such as `minTopUpAmounts.KES=500`. @returns the patch, and a defect for each wrong word. */
export function parseAssignments(assignments: readonly string[]): FieldPatch & { defects: Defect[] } {
  const defects: Defect[] = []
  const fields: Record<string, unknown> = {}
  const seenNames = new Set<string>()
  for (const assignment of assignments) {
    const [, name, text = ''] = /^([^=]*)=(.*)$/s.exec(assignment) ?? []
    const addDefect = (expected: string, found: string) =>
      defects.push({ place: { ...typedInCommand, field: name }, expected, found })
    if (name === undefined) {
      addDefect('a field and its value, as name=value', describeValue(assignment))
      continue
    }
    const column = findColumn(name)
    if (column === undefined) {
      const names = columnsWithoutAmounts.map((each) => each.name)
      defects.push(makeUnknownNameDefect(typedInCommand, 'field', name, names))
    } else if ('expected' in column) {
      // The name is of an amount with a wrong currency.
      defects.push({ place: typedInCommand, expected: `${column.expected} after the dot`, found: describeValue(name) })
    } else if (name === 'id' || name === 'identifier') {
      addDefect(`no value, because partners know the plan by its ${name}`, describeValue(text))
    } else if (seenNames.has(name)) addDefect('one value', 'a second')
    else if (text === '') addDefect('a value after the equals sign, or null for no value', 'nothing')
    else {
      const value = decodeCell(column.kind, text)
      if (column.member === undefined) fields[name] = value
      else fields[column.field] = { ...getObjectOrEmpty(fields[column.field]), [column.member]: value }
    }
    seenNames.add(name)
  }
  return { fields, place: typedInCommand, defects }
}

/** The objects that plans share, such as categories, by their field and ID: the key is `category 5`. */
type SharedObjects = ReadonlyMap<string, object>

export function indexSharedObjects(plans: readonly CatalogPlan[]): SharedObjects {
  const objects = plans.flatMap((plan) => listSharedObjects(plan))
  return new Map(objects.map((object) => [makeValueKey(object), object.value]))
}

/** Applies a patch to the plan `before`, and checks the plan. @param sharedObjects the objects that the patch may refer to by their IDs. */
export function applyPatch(
  before: CatalogPlan,
  { fields, place }: FieldPatch,
  sharedObjects: SharedObjects,
): { plan: CatalogPlan } | { defects: Defect[] } {
  const patchedPlan: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(fields)) {
    patchedPlan[name] = patchField(name, Reflect.get(before, name), value, sharedObjects)
  }
  // Unless the patch opens or closes the plan, the note decides: a plan is open if it has no note.
  if (patchedPlan['isInvestable'] === before.isInvestable)
    patchedPlan['isInvestable'] = patchedPlan['nonInvestableNote'] === null
  if (isSameJson(before, patchedPlan)) return { plan: before }
  const { data, error } = catalogPlanSchema.safeParse(patchedPlan)
  if (data) return { plan: data }
  const defects = listDefects(error, patchedPlan, place)
  for (const defect of defects) {
    const [name = ''] = defect.place.field?.split('.') ?? []
    // If no plan has an object with the ID of the patch, `patchObject` returns the object of the patch itself.
    const isIdUnknown = getObjectOrEmpty(fields[name])['id'] !== undefined && patchedPlan[name] === fields[name]
    if (isIdUnknown) defect.fix = `No plan has this ${name}.id: is it mistyped?`
  }
  return { defects }
}

/** @param patchValue the value in the patch. An object or amounts have only the members to change; null removes an amount. */
function patchField(name: string, before: unknown, patchValue: unknown, sharedObjects: SharedObjects): unknown {
  const shape = planFields.find((field) => field.name === name)?.shape
  if (!isJsonObject(patchValue) || shape === undefined || 'kind' in shape) return patchValue
  if ('members' in shape) return patchObject(name, getObjectOrEmpty(before), patchValue, sharedObjects)
  const amounts = { ...getObjectOrEmpty(before), ...patchValue }
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== null))
}

function getObjectOrEmpty(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {}
}

/**
 * Patches an object such as a category. If the patch has the ID of another shared object, returns that object, with the members that the
 * patch changes; if no plan has an object with that ID, returns the patch itself.
 * @returns null if the patch removes the object.
 */
function patchObject(
  field: string,
  before: Record<string, unknown>,
  patch: Record<string, unknown>,
  sharedObjects: SharedObjects,
): Record<string, unknown> | null {
  const patchedObject = { ...before, ...patch }
  if (patch['id'] === null || Object.values(patchedObject).every((value) => value === null)) return null
  if (patch['id'] === undefined || patch['id'] === before['id']) return patchedObject
  const otherObject = sharedObjects.get(makeValueKey({ field, id: patch['id'] }))
  // A row of an exported spreadsheet also gives the members that did not change: they belong to the object before.
  const changedMembers = Object.entries(patch).filter(([member, value]) => value !== before[member])
  return otherObject ? { ...otherObject, ...Object.fromEntries(changedMembers) } : patch
}

/** Patches plans of the catalog. @returns the patched plans, and all defects of the file. If there is a defect, plans may be missing. */
export function applyPatches(
  update: Pick<CatalogUpdate, 'patches' | 'defects'>,
  catalog: readonly CatalogPlan[],
): { plans: CatalogPlan[]; defects: Defect[] } {
  const plansByIdentifier = new Map(catalog.map((plan) => [plan.identifier, plan]))
  const sharedObjects = indexSharedObjects(catalog)
  const plans: CatalogPlan[] = []
  const defects = [...update.defects]
  for (const { identifier, ...patch } of update.patches) {
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
    const result = applyPatch(plan, patch, sharedObjects)
    if ('plan' in result) plans.push(result.plan)
    else defects.push(...result.defects)
  }
  return { plans, defects }
}
