// Reads and writes catalog files, `{ "plans": [ … ] }`. An exported file also says where its plans come from. Node only.
import { z } from 'zod'
import { createMisfitFinder, listDifferingMembers, type Contradiction } from '../../../catalog/fit.ts'
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
  /** The sheet that was read, if the file has several. */
  sheet?: string | undefined
  /** Sentences about a spreadsheet that people may have overlooked, such as hidden rows. */
  notes?: readonly string[] | undefined
}

const catalogId = '16 hexadecimal digits in lower case'

const fileSchema = z.strictObject(
  {
    catalog: z
      .string(catalogId)
      .regex(/^[0-9a-f]{16}$/, catalogId)
      .optional(),
    revision: nonNegativeInteger.optional(),
    plans: z.array(z.unknown(), 'an array of plans'),
  },
  'a JSON object with an array "plans"',
)

export function formatCatalog(plans: readonly CatalogPlan[], origin?: CatalogOrigin): string {
  return `${JSON.stringify({ ...origin, plans }, null, 2)}\n`
}

/** @throws UserError with a line for each defect of the file and of its plans. */
export function parseCatalog(json: string): CatalogFile {
  const { value, wrongNames } = readJson(json)
  const defects = wrongNames.map((path) => describeWrongName(value, path))
  const { data, error } = fileSchema.safeParse(value)
  if (error) defects.push(...listDefects(error, value, wholeFile, Object.keys(fileSchema.shape)))
  const places = new Map<CatalogPlan, Place>()
  const listed = readPath(value, 'plans')
  const candidates: unknown[] = Array.isArray(listed) ? listed : []
  for (const [index, candidate] of candidates.entries()) {
    const plan = catalogPlanSchema.safeParse(candidate)
    if (plan.error) defects.push(...listDefects(plan.error, candidate, locatePlan(candidate, index)))
    else {
      const { owner } = locateByIdentifier(plan.data.identifier)
      places.set(plan.data, { kind: 'plan', owner: `${owner} (number ${index + 1})` })
    }
  }
  defects.push(...findContradictions(places))
  if (data && (data.catalog === undefined) !== (data.revision === undefined)) {
    defects.push({ place: wholeFile, expected: 'both catalog and revision, or neither', found: 'one of them' })
  }
  if (defects.length > 0) throw makeDefectError(defects)
  const { catalog, revision } = data ?? {}
  const origin = catalog === undefined || revision === undefined ? undefined : { catalog, revision }
  return { plans: [...places.keys()], origin }
}

/** @throws UserError when the text is not JSON. */
function readJson(text: string): { value: unknown; wrongNames: Path[] } {
  try {
    return { value: JSON.parse(text), wrongNames: findWrongNames(text) }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : 'unreadable'
    throw makeDefectError([{ place: wholeFile, expected: 'JSON', found: `an error: ${reason}` }])
  }
}

function describeWrongName(file: unknown, path: Path): Defect {
  const [start, index, ...inPlan] = path
  const isInPlan = start === 'plans' && typeof index === 'number'
  const place = isInPlan ? locatePlan(readPath(file, start, index), index) : wholeFile
  const names = isInPlan ? inPlan : path
  if (names.at(-1) === unsafeName) {
    const field = names.slice(0, -1).join('.') || undefined
    return makeUnknownNameDefect({ ...place, field }, 'field', unsafeName, [])
  }
  return { place: { ...place, field: names.join('.') }, expected: 'one value', found: 'a second' }
}

/** @param index the position of the plan in the file, from 0. It names a plan without an identifier. */
function locatePlan(plan: unknown, index: number): Place {
  const identifier = readPath(plan, 'identifier')
  if (typeof identifier === 'string') return locateByIdentifier(identifier)
  return { kind: 'plan', owner: `plan number ${index + 1}` }
}

function locateByIdentifier(identifier: string): Place {
  return { kind: 'plan', owner: `plan ${describeValue(identifier)}` }
}

/**
 * Lists the defects that a zod schema finds.
 * @param value what the schema checked.
 * @param names the known fields, for a suggestion.
 */
export function listDefects(
  { issues }: z.ZodError,
  value: unknown,
  place: Place,
  names: readonly string[] = planFields.map(({ name }) => name),
): Defect[] {
  return issues.flatMap((issue): Defect[] => {
    // For an invalid key, zod's path ends with the key.
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path
    // A list is one field, in one cell: its positions are not a part of the name.
    const field = path.filter((part) => typeof part === 'string').join('.')
    const there: Place = field === '' ? place : { ...place, field }
    if (issue.code === 'unrecognized_keys') {
      const shape = planFields.find(({ name }) => name === path[0])?.shape
      const candidates = shape && 'members' in shape ? [...shape.members.keys()] : names
      return issue.keys.map((key) => makeUnknownNameDefect(there, 'field', key, candidates))
    }
    const found = issue.code === 'invalid_key' ? issue.path.at(-1) : (readPath(value, ...path) ?? undefined)
    const advice = found instanceof UnusableCell ? found.advice : { fix: explainValue(there, found) }
    return [{ place: there, expected: issue.message, found: describeValue(found), ...advice }]
  })
}

/** Says how to write a date or a number: a text with digits is often a number with a decimal comma, a percent sign, or another minus. */
function explainValue({ kind, field = '' }: Place, found: unknown): string | undefined {
  const column = findColumn(field)
  const columnKind = column !== undefined && 'kind' in column ? column.kind : undefined
  if (kind === 'row' && columnKind === 'date') {
    return 'Format the cell as a date without a time of day, or write it as 2026-11-30.'
  }
  if ((columnKind !== 'number' && columnKind !== 'amount') || typeof found !== 'string') return undefined
  if (!/\p{N}/u.test(found)) {
    const isNullable = kind === 'row' && Reflect.get(catalogPlanSchema.shape, field) instanceof z.ZodNullable
    const fix = 'Write null for no value. In catalog update, an empty cell leaves the field as it is.'
    return isNullable ? fix : undefined
  }
  if (kind === 'command') return 'Write numbers such as 12.4, -0.5 and 1000.'
  return kind === 'row' ? 'Write numbers such as 12.4, -0.5 and 1000, in .xlsx as numbers, not as text.' : undefined
}

/**
 * Finds plans of a file that can't be stored together: two plans with the same ID or identifier, or with different objects of the same
 * ID, such as a category. Each defect is at the later plan.
 * @param places the place of each plan, in the order of the file.
 */
export function findContradictions(places: ReadonlyMap<CatalogPlan, Place>): Defect[] {
  const finder = createMisfitFinder<CatalogPlan>()
  for (const plan of places.keys()) finder.add({ base: null, own: plan, current: null })
  const misfit = finder.findMisfit()
  const contradictions = misfit && 'contradictions' in misfit ? misfit.contradictions : []
  const shared = contradictions.filter(({ value }) => isJsonObject(value))
  const placesByName = new Map([...places].map(([{ identifier }, place]) => [identifier, place]))
  return [...findDuplicates(places), ...describeContradictions(shared, placesByName)]
}

function findDuplicates(places: ReadonlyMap<CatalogPlan, Place>): Defect[] {
  const owners = new Map<string | number, Place>()
  return [...places].flatMap(([plan, place]) =>
    (['id', 'identifier'] as const).flatMap((field): Defect[] => {
      const alsoAt = owners.get(plan[field])
      owners.set(plan[field], alsoAt ?? place)
      const found = describeValue(plan[field])
      return alsoAt ? [{ place: { ...place, field }, expected: noOther(field), found, alsoAt }] : []
    }),
  )
}

/** @param places the places of plans in a file, by identifier. A defect of a plan without a place names the plan. */
export function describeContradictions(
  contradictions: readonly Contradiction[],
  places: ReadonlyMap<string, Place> = new Map(),
): Defect[] {
  return contradictions.flatMap((contradiction): Defect[] => {
    const { field, id, plan, value, otherPlan, otherValue } = contradiction
    const place = places.get(plan) ?? locateByIdentifier(plan)
    if (!isJsonObject(value)) {
      const alsoAt = locateByIdentifier(otherPlan)
      return [{ place: { ...place, field }, expected: noOther(field), found: describeValue(id), alsoAt }]
    }
    return listDifferingMembers(contradiction).map((path) => {
      const [mine, theirs] = [value, otherValue].map((object) => readPath(object, path.slice(field.length + 1)))
      return {
        place: { ...place, field: path },
        expected: `${describeValue(theirs)}, as in plan ${describeValue(otherPlan)}`,
        found: describeValue(mine),
        fix: `Plans with the same ${field}.id share its values: change all of them together.`,
      }
    })
  })
}

const noOther = (field: string) => `an ${field} that no other plan has`

/** A suggested ID follows the highest ID below this limit: a plan of the demo catalog has the highest possible ID, and none follows. */
const suggestedIdLimit = 2 ** 52

/** Finds plans that have the ID or the identifier of another plan of the catalog: partners know a plan by both. */
export function findIdentityMismatches(plans: readonly CatalogPlan[], catalog: readonly CatalogPlan[]): Defect[] {
  const identifiers = new Map(catalog.map(({ id, identifier }) => [id, identifier]))
  const ids = new Map(catalog.map(({ id, identifier }) => [identifier, id]))
  let highestId = [...catalog, ...plans].reduce(
    (highest, { id }) => (id < suggestedIdLimit ? Math.max(highest, id) : highest),
    0,
  )
  return plans.flatMap(({ id, identifier }): Defect[] => {
    const place: Place = { ...locateByIdentifier(identifier), field: 'id' }
    const owner = identifiers.get(id) ?? identifier
    const found = `${id}${owner === identifier ? '' : `, the id of plan ${describeValue(owner)}`}`
    const known = ids.get(identifier) ?? id
    if (known !== id) {
      return [{ place, expected: `${known}, its id in the catalog`, found, fix: 'A plan keeps its id.' }]
    }
    if (owner === identifier) return []
    highestId += 1
    const expected = 'an id that no other plan of the catalog has'
    return [
      { place, expected, found, fix: `A plan keeps its identifier; for a new plan, the id ${highestId} is free.` },
    ]
  })
}
