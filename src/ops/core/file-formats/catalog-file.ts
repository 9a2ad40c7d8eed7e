// Reads and writes catalog files, `{ "plans": [ … ] }`. An exported file also has the ID of the catalog and its revision.
import { z } from 'zod'
import { createObstacleFinder, listDifferingMembers, type Contradiction } from '../../../catalog/fit.ts'
import type { CatalogOrigin } from '../../../db/catalog-queries.ts'
import { isJsonObject, readPath } from '../../../json.ts'
import { makeDefectError, makeUnknownNameDefect, wholeFile, type Defect, type Place } from './defect.ts'
import { findWrongNames, unsafeName, type Path } from './json-scan.ts'
import { describeValue, UnusableCell } from './plan-cells.ts'
import { findColumn, planFields } from './plan-columns.ts'
import { catalogPlanSchema, nonNegativeInteger, type CatalogPlan } from '../../../catalog/plan-schema.ts'

export interface CatalogFile {
  plans: CatalogPlan[]
  /** The catalog and revision that the file was exported from; undefined for a file that was written by hand. */
  origin?: CatalogOrigin | undefined
  /** The name of the sheet that was read; undefined if the file has no other sheet. */
  sheet?: string | undefined
  /** Sentences about parts of a spreadsheet that its author may have overlooked, such as hidden rows. */
  notes?: readonly string[] | undefined
}

const catalogIdForm = '16 hexadecimal digits in lower case'

const fileSchema = z.strictObject(
  {
    catalog: z
      .string(catalogIdForm)
      .regex(/^[0-9a-f]{16}$/, catalogIdForm)
      .optional(),
    revision: nonNegativeInteger.optional(),
    plans: z.array(z.unknown(), 'an array of plans'),
  },
  'a JSON object with an array "plans"',
)

export function formatCatalog(plans: readonly CatalogPlan[], origin?: CatalogOrigin): string {
  return `${JSON.stringify({ ...origin, plans }, null, 2)}\n`
}

/** Reads a catalog file. @throws UserError with a line for each defect of the file and of its plans. */
export function parseCatalog(json: string): CatalogFile {
  const { value, wrongNames } = parseFile(json)
  const defects = wrongNames.map((path) => makeWrongNameDefect(value, path))
  const { data, error } = fileSchema.safeParse(value)
  if (error) defects.push(...listDefects(error, value, wholeFile, Object.keys(fileSchema.shape)))
  const validPlans = new Map<CatalogPlan, Place>()
  const plans = readPath(value, 'plans')
  const candidates: unknown[] = Array.isArray(plans) ? plans : []
  for (const [index, candidate] of candidates.entries()) {
    const { data: plan, error: planError } = catalogPlanSchema.safeParse(candidate)
    if (planError) defects.push(...listDefects(planError, candidate, locatePlan(candidate, index)))
    else {
      const { owner } = locateByIdentifier(plan.identifier)
      validPlans.set(plan, { kind: 'plan', owner: `${owner} (number ${index + 1})` })
    }
  }
  defects.push(...findContradictions(validPlans))
  if (data && (data.catalog === undefined) !== (data.revision === undefined)) {
    defects.push({ place: wholeFile, expected: 'both catalog and revision, or neither', found: 'one of them' })
  }
  if (defects.length > 0) throw makeDefectError(defects)
  const { catalog, revision } = data ?? {}
  const origin = catalog === undefined || revision === undefined ? undefined : { catalog, revision }
  return { plans: [...validPlans.keys()], origin }
}

/** Parses JSON. `wrongNames` are the paths of fields with a repeated or unsafe name. @throws UserError if the text is not JSON, or has too many levels. */
function parseFile(text: string): { value: unknown; wrongNames: Path[] } {
  try {
    return { value: JSON.parse(text), wrongNames: findWrongNames(text) }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : 'unreadable'
    throw makeDefectError([{ place: wholeFile, expected: 'JSON', found: `an error: ${reason}` }])
  }
}

/** Makes the defect for a repeated name of a field, or for the unsafe name `__proto__`. @param path the path of the field in the file. */
function makeWrongNameDefect(file: unknown, path: Path): Defect {
  const [list, index, ...pathInPlan] = path
  const isInPlan = list === 'plans' && typeof index === 'number'
  const place = isInPlan ? locatePlan(readPath(file, list, index), index) : wholeFile
  const fieldPath = isInPlan ? pathInPlan : path
  if (fieldPath.at(-1) === unsafeName) {
    const parentField = fieldPath.slice(0, -1).join('.') || undefined
    return makeUnknownNameDefect({ ...place, field: parentField }, 'field', unsafeName, [])
  }
  return { place: { ...place, field: fieldPath.join('.') }, expected: 'one value', found: 'a second' }
}

/** Names a plan by its identifier, or else by its number. @param index the position in the file, from 0. */
function locatePlan(plan: unknown, index: number): Place {
  const identifier = readPath(plan, 'identifier')
  if (typeof identifier === 'string') return locateByIdentifier(identifier)
  return { kind: 'plan', owner: `plan number ${index + 1}` }
}

function locateByIdentifier(identifier: string): Place {
  return { kind: 'plan', owner: `plan ${describeValue(identifier)}` }
}

/** Makes a defect of each issue of `value`, at `place` with the field. @param names the known fields, of which the defect of an unknown field suggests one. */
export function listDefects(
  { issues }: z.ZodError,
  value: unknown,
  place: Place,
  names: readonly string[] = planFields.map(({ name }) => name),
): Defect[] {
  return issues.flatMap((issue): Defect[] => {
    // For an invalid key, zod's path ends with the key, which is the value to show and no part of the field.
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path
    // A list is one field, in one cell: the name of the field has no positions in the list.
    const field = path.filter((part) => typeof part === 'string').join('.')
    const fieldPlace: Place = field === '' ? place : { ...place, field }
    if (issue.code === 'unrecognized_keys') {
      const shape = planFields.find(({ name }) => name === path[0])?.shape
      const candidates = shape && 'members' in shape ? [...shape.members.keys()] : names
      return issue.keys.map((key) => makeUnknownNameDefect(fieldPlace, 'field', key, candidates))
    }
    // A message says "nothing" for null, as for a missing field.
    const found = issue.code === 'invalid_key' ? issue.path.at(-1) : (readPath(value, ...path) ?? undefined)
    const advice = found instanceof UnusableCell ? found.advice : { fix: suggestFormat(fieldPlace, found) }
    return [{ place: fieldPlace, expected: issue.message, found: describeValue(found), ...advice }]
  })
}

/** Says how to write a date, a number or no value in a cell, or a number in a command. @returns undefined without such advice. */
function suggestFormat({ kind, field = '' }: Place, found: unknown): string | undefined {
  const column = findColumn(field)
  const columnKind = column !== undefined && 'kind' in column ? column.kind : undefined
  if (kind === 'row' && columnKind === 'date') {
    return 'Format the cell as a date without a time of day, or write it as 2026-11-30.'
  }
  if ((columnKind !== 'number' && columnKind !== 'amount') || typeof found !== 'string') return undefined
  // A text with digits is often a number with a decimal comma, a percent sign, or another minus. Any other text may stand for no value.
  const hasDigits = /\p{N}/u.test(found)
  if (hasDigits && kind === 'command') return 'Write numbers such as 12.4, -0.5 and 1000.'
  if (kind !== 'row') return undefined
  if (hasDigits) return 'Write numbers such as 12.4, -0.5 and 1000, in .xlsx as numbers, not as text.'
  const isNullable = Reflect.get(catalogPlanSchema.shape, field) instanceof z.ZodNullable
  return isNullable ? 'Write null for no value. In catalog update, an empty cell leaves the field as it is.' : undefined
}

/**
 * Finds plans that can't be stored together: they have the same ID or identifier, or one of their objects has the same ID and other values,
 * such as two categories 5 with different names. Reports each defect at the later plan.
 */
export function findContradictions(plans: ReadonlyMap<CatalogPlan, Place>): Defect[] {
  const finder = createObstacleFinder<CatalogPlan>()
  // Compares the plans only with each other: null is as if the catalog had no plan.
  for (const plan of plans.keys()) finder.add({ base: null, own: plan, current: null })
  const obstacle = finder.findObstacle()
  const contradictions = obstacle && 'contradictions' in obstacle ? obstacle.contradictions : []
  // The other contradictions are about an identifier: `findDuplicateIds` finds them, too.
  const objectContradictions = contradictions.filter(({ value }) => isJsonObject(value))
  const placesByIdentifier = new Map([...plans].map(([{ identifier }, place]) => [identifier, place]))
  return [...findDuplicateIds(plans), ...makeContradictionDefects(objectContradictions, placesByIdentifier)]
}

/** Reports the later of two plans with the same ID or identifier. */
function findDuplicateIds(plans: ReadonlyMap<CatalogPlan, Place>): Defect[] {
  const firstPlaces = new Map<string | number, Place>()
  return [...plans].flatMap(([plan, place]) =>
    (['id', 'identifier'] as const).flatMap((field): Defect[] => {
      const alsoAt = firstPlaces.get(plan[field])
      firstPlaces.set(plan[field], alsoAt ?? place)
      const found = describeValue(plan[field])
      return alsoAt ? [{ place: { ...place, field }, expected: expectUnique(field), found, alsoAt }] : []
    }),
  )
}

/**
 * Makes a defect for each identifier that two plans have. If two objects with the same ID differ, makes a defect for each member that differs.
 * @param placesByIdentifier the places of plans in a file. A plan without a place is named by its identifier.
 */
export function makeContradictionDefects(
  contradictions: readonly Contradiction[],
  placesByIdentifier: ReadonlyMap<string, Place> = new Map(),
): Defect[] {
  return contradictions.flatMap((contradiction): Defect[] => {
    const { field, id, plan, value, otherPlan, otherValue } = contradiction
    // The operator can't correct which fields a plan has: they depend on the code.
    if (field === 'members') return []
    const place = placesByIdentifier.get(plan) ?? locateByIdentifier(plan)
    if (!isJsonObject(value)) {
      const alsoAt = locateByIdentifier(otherPlan)
      return [{ place: { ...place, field }, expected: expectUnique(field), found: describeValue(id), alsoAt }]
    }
    return listDifferingMembers(contradiction).map((path) => {
      const member = path.slice(field.length + 1)
      return {
        place: { ...place, field: path },
        expected: `${describeValue(readPath(otherValue, member))}, as in plan ${describeValue(otherPlan)}`,
        found: describeValue(value[member]),
        fix: `Plans with the same ${field}.id must have the same ${field}: change all these plans together.`,
      }
    })
  })
}

const expectUnique = (field: string) => `an ${field} that no other plan has`

/** A suggested free ID follows the highest ID below this limit: the demo catalog has a plan with the highest possible ID. */
const suggestedIdLimit = 2 ** 52

/** Finds plans that would change their ID, or take the ID of another plan of the catalog. @param plans the plans after a change. */
export function findIdentityMismatches(plans: readonly CatalogPlan[], catalog: readonly CatalogPlan[]): Defect[] {
  const identifiersById = new Map(catalog.map(({ id, identifier }) => [id, identifier]))
  const idsByIdentifier = new Map(catalog.map(({ id, identifier }) => [identifier, id]))
  const ids = [...catalog, ...plans].map(({ id }) => id).filter((id) => id < suggestedIdLimit)
  let freeId = ids.reduce((highest, id) => Math.max(highest, id), 0) + 1
  return plans.flatMap(({ id, identifier }): Defect[] => {
    const place: Place = { ...locateByIdentifier(identifier), field: 'id' }
    const ownerOfId = identifiersById.get(id) ?? identifier
    const isTaken = ownerOfId !== identifier
    const found = isTaken ? `${id}, the id of plan ${describeValue(ownerOfId)}` : String(id)
    const idInCatalog = idsByIdentifier.get(identifier) ?? id
    if (idInCatalog !== id) {
      return [{ place, expected: `${idInCatalog}, its id in the catalog`, found, fix: 'A plan keeps its id.' }]
    }
    if (!isTaken) return []
    const fix = `A plan keeps its identifier; for a new plan, the id ${freeId} is free.`
    freeId += 1
    return [{ place, expected: 'an id that no other plan of the catalog has', found, fix }]
  })
}
