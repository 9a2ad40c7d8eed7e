// Changes of some fields of known plans: from the rows of a spreadsheet, from JSON, or from a command line. Pure.
import { isJsonObject, readPath } from '../json.ts'
import { parseFile, type ExportSource } from './catalog-file.ts'
import { nameColumn, readMember } from './catalog-sheet.ts'
import { decodeCell, describeCell, isEmptyCell } from './plan-cells.ts'
import { findColumn, planFields } from './plan-columns.ts'
import { abbreviate } from '../abbreviate.ts'
import { catalogPlanSchema, type CatalogPlan } from './plan-schema.ts'
import { findPlanTable, type Spreadsheet } from './plan-table.ts'

interface FieldChange {
  field: string
  /** The member of an object, or the currency of amounts. */
  member: string | undefined
  value: unknown
  /** The value for a message. */
  found: string
}

export interface FieldPatch {
  changes: readonly FieldChange[]
  /** Names the place of a column for a message, such as `Sheet "Plans", row 7, column name`. */
  locate: (column: string) => string
}

export interface PlanPatch extends FieldPatch {
  identifier: string
}

export interface CatalogUpdate extends ExportSource {
  patches: PlanPatch[]
}

export type UpdateResult = ({ kind: 'update' } & CatalogUpdate) | { kind: 'invalid'; defects: string[] }

const identifierColumn = 'identifier'

/** Reads the rows of a spreadsheet. Empty cells change nothing. */
export function parseUpdateSheets(spreadsheet: Spreadsheet): UpdateResult {
  const table = findPlanTable(spreadsheet)
  if ('defect' in table) return { kind: 'invalid', defects: [table.defect] }
  const { columns, rows, format, origin, country } = table
  const defects = [...table.defects]
  const patches = rows.flatMap(({ place, cells }): PlanPatch[] => {
    const locate = (column: string) => `${place}, column ${column}`
    const identifier = cells.get(identifierColumn) ?? null
    if (isEmptyCell(identifier)) {
      defects.push(`${locate(identifierColumn)}: expected the identifier of a plan; found nothing.`)
      return []
    }
    const changes = columns.flatMap(({ name, field, member, kind }): FieldChange[] => {
      const cell = cells.get(name) ?? null
      if (isEmptyCell(cell)) return []
      const value = decodeCell(kind, cell, format)
      // In a list, null is the empty list: the plan is viewable nowhere.
      return [{ field, member, value: kind === 'list' && value === null ? [] : value, found: describeCell(cell) }]
    })
    return [{ identifier: String(decodeCell('text', identifier, format)), changes, locate }]
  })
  defects.push(...findRepeated(patches))
  return defects.length > 0 ? { kind: 'invalid', defects } : { kind: 'update', patches, origin, country }
}

/** Reads a catalog file whose plans have an identifier and any other fields. */
export function parseUpdateJson(json: string): UpdateResult {
  const file = parseFile(json)
  const defects = [...file.defects]
  const patches = file.candidates.flatMap((candidate, index): PlanPatch[] => {
    const identifier = isJsonObject(candidate) ? candidate[identifierColumn] : undefined
    if (!isJsonObject(candidate) || typeof identifier !== 'string') {
      const expected = 'an object with the identifier of a plan'
      defects.push(`Plan number ${index + 1}: expected ${expected}; found ${abbreviate(candidate)}.`)
      return []
    }
    const locate = (column: string) => `Plan ${abbreviate(identifier)}: ${column}`
    const changes = Object.entries(candidate).flatMap(([name, value]) => splitValue(name, value))
    for (const { field, member } of changes) {
      const column = member === undefined ? field : `${field}.${member}`
      const isKnown =
        planFields.some(({ name }) => name === field) && (member === undefined || findColumn(column) !== undefined)
      if (!isKnown) defects.push(`Plan ${abbreviate(identifier)}: unknown field ${abbreviate(column)}.`)
    }
    return [{ identifier, changes, locate }]
  })
  defects.push(...findRepeated(patches))
  const { origin, country } = file
  return defects.length > 0 ? { kind: 'invalid', defects } : { kind: 'update', patches, origin, country }
}

/** Splits an object into its members: those that it does not name stay as they are. */
function splitValue(field: string, value: unknown): FieldChange[] {
  if (!isJsonObject(value)) return [{ field, member: undefined, value, found: abbreviate(value) }]
  return Object.entries(value).map(([member, inner]) => ({ field, member, value: inner, found: abbreviate(inner) }))
}

/** Reads `name=value` words of a command line. */
export function parseAssignments(assignments: readonly string[]): FieldPatch | { defects: string[] } {
  const defects: string[] = []
  const seen = new Set<string>()
  const changes = assignments.flatMap((assignment): FieldChange[] => {
    const [, name, text = ''] = /^([^=]*)=(.*)$/s.exec(assignment) ?? []
    if (name === undefined) {
      defects.push(`Write a field and its value as name=value; found ${abbreviate(assignment)}.`)
      return []
    }
    if (name === 'id' || name === identifierColumn) {
      defects.push(`${name}: it can't be changed, because partners know the plan by it.`)
      return []
    }
    if (seen.has(name)) defects.push(`${name}: it is given twice.`)
    seen.add(name)
    const column = findColumn(name)
    if (column && 'expected' in column) defects.push(`${name}: expected ${column.expected} after the dot.`)
    else if (column) {
      const { field, member, kind } = column
      if (text === '') defects.push(`${name}: write a value after the equals sign, or null for no value.`)
      const value = decodeCell(kind, text, { isUntyped: false })
      return [{ field, member, value: kind === 'list' && value === null ? [] : value, found: abbreviate(text) }]
    } else if (planFields.some((field) => field.name === name)) return splitValue(name, parseJson(text))
    else defects.push(`Unknown field ${abbreviate(name)}.`)
    return []
  })
  return defects.length > 0 ? { defects } : { changes, locate: (column) => column }
}

/** @returns the text itself when it is not JSON: the schema refuses it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function findRepeated(patches: readonly PlanPatch[]): string[] {
  const seen = new Set<string>()
  return patches.flatMap(({ identifier, locate }) => {
    if (!seen.has(identifier)) {
      seen.add(identifier)
      return []
    }
    return [`${locate(identifierColumn)}: ${abbreviate(identifier)} is given twice.`]
  })
}

/** Finds the object of a field, such as a category, that has an ID. */
export type FindShared = (field: string, id: unknown) => object | undefined

/** Indexes the objects that plans share. */
export function indexShared(plans: Iterable<CatalogPlan>): FindShared {
  const shared = new Map<string, object>()
  for (const plan of plans) {
    for (const [field, value] of Object.entries(plan)) {
      if (isJsonObject(value) && 'id' in value) shared.set(`${field} ${String(value['id'])}`, value)
    }
  }
  return (field, id) => shared.get(`${field} ${String(id)}`)
}

/**
 * Applies a patch to the plan that it names, and checks the result.
 * @returns the plan, the same object when nothing changes, or all defects.
 */
export function applyPatch(
  known: CatalogPlan,
  { changes: given, locate }: FieldPatch,
  findShared: FindShared,
): { plan: CatalogPlan } | { defects: string[] } {
  const changes = given.filter((change) => !isSameValue(readMember(known, change), change.value))
  const id = changes.find(({ field }) => field === 'id')
  if (id) return { defects: [`${locate('id')}: expected ${known.id}, the id of this plan; found ${id.found}.`] }
  if (changes.length === 0) return { plan: known }

  const patched: Record<string, unknown> = { ...known }
  for (const { name, shape } of planFields) {
    const own = changes.filter(({ field }) => field === name)
    if (own.length === 0) continue
    const whole = own.find(({ member }) => member === undefined)
    const members = Object.fromEntries(own.map(({ member = '', value }) => [member, value]))
    if (whole) patched[name] = whole.value
    else if ('amounts' in shape) patched[name] = removeNulls({ ...Object(patched[name]), ...members })
    else patched[name] = patchObject(name, patched[name], members, given, findShared)
  }
  // The note decides, unless the patch says otherwise.
  const isNoteChanged = changes.some(({ field }) => field === 'nonInvestableNote')
  if (isNoteChanged && !changes.some(({ field }) => field === 'isInvestable')) {
    patched['isInvestable'] = patched['nonInvestableNote'] === null
  }

  const { data, error } = catalogPlanSchema.safeParse(patched)
  if (data) return { plan: data }
  const defects = error.issues.map(({ path, message, ...issue }) => {
    if (issue.code === 'unrecognized_keys') {
      return `Unknown field ${issue.keys.map(abbreviate).join(', ')} in the catalog: update this copy of the code.`
    }
    const column = nameColumn(path)
    const change = given.find(({ field, member }) => column === (member === undefined ? field : `${field}.${member}`))
    const value = readPath(patched, ...path)
    return `${locate(column)}: expected ${message}; found ${change?.found ?? abbreviate(value)}.`
  })
  return { defects: [...new Set(defects)] }
}

/** With another ID, the object is the known one with that ID, as far as the patch does not change its members. */
function patchObject(
  field: string,
  known: unknown,
  members: Record<string, unknown>,
  given: readonly FieldChange[],
  findShared: FindShared,
): unknown {
  const patched = { ...Object(known), ...members }
  if (Object.values(patched).every((value) => value === null) || members['id'] === null) return null
  if (members['id'] === undefined) return patched
  const other = findShared(field, members['id'])
  if (other) return { ...other, ...members }
  const own = given.filter((change) => change.field === field).map(({ member = '', value }) => [member, value] as const)
  return Object.fromEntries(own)
}

function removeNulls(amounts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== null))
}

/** A missing member and null are the same, and so are lists in another order. */
function isSameValue(known: unknown, value: unknown): boolean {
  if (!Array.isArray(known) || !Array.isArray(value)) return (known ?? null) === value
  return known.length === value.length && known.every((part) => value.includes(part))
}

/**
 * Applies patches to the plans that they name.
 * @param known the plan with an identifier.
 * @returns only the plans that patches name, or all defects.
 */
export function applyPatches(
  patches: readonly PlanPatch[],
  known: readonly CatalogPlan[],
): { plans: CatalogPlan[] } | { defects: string[] } {
  const plansByIdentifier = new Map(known.map((plan) => [plan.identifier, plan]))
  const findShared = indexShared(known)
  const plans: CatalogPlan[] = []
  const defects: string[] = []
  for (const patch of patches) {
    const plan = plansByIdentifier.get(patch.identifier)
    if (plan === undefined) {
      const expected = 'the identifier of a plan in the catalog'
      defects.push(`${patch.locate(identifierColumn)}: expected ${expected}; found ${abbreviate(patch.identifier)}.`)
      continue
    }
    const applied = applyPatch(plan, patch, findShared)
    if ('plan' in applied) plans.push(applied.plan)
    else defects.push(...applied.defects)
  }
  return defects.length > 0 ? { defects } : { plans }
}
