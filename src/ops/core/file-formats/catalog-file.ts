// Reads and writes catalog files, `{ "plans": [ … ] }`. An exported file also says where its plans come from. Node only.
import { z } from 'zod'
import { createFit, listDifferingMembers, type Contradiction } from '../../../catalog/fit.ts'
import type { CatalogOrigin } from '../../../db/catalog-queries.ts'
import { isJsonObject, readPath } from '../../../json.ts'
import { findUnknownName, type Defect, type Invalid, type Place } from './defect.ts'
import { findWrongNames, unsafeName, type Path } from './json-scan.ts'
import { describeValue, UnusableCell } from './plan-cells.ts'
import { findColumn, planFields } from './plan-columns.ts'
import { catalogPlanSchema, nonNegativeInteger, type CatalogPlan } from '../../../catalog/plan-schema.ts'

export interface CatalogFile {
  plans: CatalogPlan[]
  /** Where it was exported from; undefined when it was not. */
  origin?: CatalogOrigin | undefined
  /** The sheet that was read, if the file has several. */
  sheet?: string | undefined
  /** Of a spreadsheet: what people may have overlooked. */
  notes?: readonly string[] | undefined
}

export type CatalogResult = ({ kind: 'catalog' } & CatalogFile) | Invalid

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

/** Finds all defects of a file at once. */
export function parseCatalog(json: string): CatalogResult {
  const { value, defects } = readJson(json)
  const places = new Map<CatalogPlan, Place>()
  if (value === undefined) return { kind: 'invalid', defects }
  const { data, error } = fileSchema.safeParse(value)
  if (error) defects.push(...listDefects(error, value, { kind: 'file' }, Object.keys(fileSchema.shape)))
  const listed = readPath(value, 'plans')
  const plans: unknown[] = Array.isArray(listed) ? listed : []
  for (const [index, candidate] of plans.entries()) {
    const plan = catalogPlanSchema.safeParse(candidate)
    if (plan.data) places.set(plan.data, { kind: 'plan', identifier: plan.data.identifier, number: index + 1 })
    if (plan.error) defects.push(...listDefects(plan.error, candidate, locatePlan(candidate, index)))
  }
  defects.push(...findContradictions([...places.keys()], places))
  if (data && (data.catalog === undefined) !== (data.revision === undefined)) {
    defects.push({ place: { kind: 'file' }, expected: 'both catalog and revision, or neither', found: 'one of them' })
  }
  if (defects.length > 0) return { kind: 'invalid', defects }
  const { catalog, revision } = data ?? {}
  const origin = catalog === undefined || revision === undefined ? undefined : { catalog, revision }
  return { kind: 'catalog', plans: [...places.keys()], origin }
}

function readJson(text: string): { value?: unknown; defects: Defect[] } {
  try {
    const value: unknown = JSON.parse(text)
    return { value, defects: findWrongNames(text).map((path) => describeName(value, path)) }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : 'unreadable'
    return { defects: [{ place: { kind: 'file' }, expected: 'JSON', found: `an error: ${reason}` }] }
  }
}

function describeName(value: unknown, path: Path): Defect {
  const [start, index, ...inPlan] = path
  const isInPlan = start === 'plans' && typeof index === 'number'
  const place: Place = isInPlan ? locatePlan(readPath(value, start, index), index) : { kind: 'file' }
  const names = isInPlan ? inPlan : path
  const name = names.at(-1)
  if (name !== unsafeName)
    return { place: { ...place, field: names.join('.') }, expected: 'one value', found: 'a second' }
  return findUnknownName({ ...place, field: names.slice(0, -1).join('.') || undefined }, 'field', name, [])
}

/** @param index from 0. */
function locatePlan(plan: unknown, index: number): Place {
  const identifier = readPath(plan, 'identifier')
  return { kind: 'plan', ...(typeof identifier === 'string' ? { identifier } : { number: index + 1 }) }
}

/**
 * Lists the defects that the schema finds.
 * @param names the known fields.
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
    // A list is one value: it is in one cell.
    const field = path.filter((part) => typeof part === 'string').join('.')
    const there: Place = field === '' ? place : { ...place, field }
    if (issue.code === 'unrecognized_keys') {
      const shape = planFields.find(({ name }) => name === path[0])?.shape
      const candidates = shape && 'members' in shape ? [...shape.members.keys()] : names
      return issue.keys.map((key) => findUnknownName(there, 'field', key, candidates))
    }
    const found = issue.code === 'invalid_key' ? issue.path.at(-1) : (readPath(value, ...path) ?? undefined)
    const way = found instanceof UnusableCell ? found.way : { fix: explainValue(there, found) }
    return [{ place: there, expected: issue.message, found: describeValue(found), ...way }]
  })
}

/** A text with digits is often a number with a decimal comma, a percent sign, or a minus of another kind. */
function explainValue({ kind, field = '' }: Place, found: unknown): string | undefined {
  const column = findColumn(field)
  const columnKind = column !== undefined && 'kind' in column ? column.kind : undefined
  if (kind === 'row' && columnKind === 'date') {
    return 'Format the cell as a date without a time of day, or write it as 2026-11-30.'
  }
  if (columnKind !== 'number' || typeof found !== 'string') return undefined
  if (!/\p{N}/u.test(found)) {
    const isNullable = kind === 'row' && Reflect.get(catalogPlanSchema.shape, field) instanceof z.ZodNullable
    const way = 'Write null for no value. In catalog update, an empty cell leaves the field as it is.'
    return isNullable ? way : undefined
  }
  if (kind === 'command') return 'Write numbers such as 12.4, -0.5 and 1000.'
  return kind === 'row' ? 'Write numbers such as 12.4, -0.5 and 1000, in .xlsx as numbers, not as text.' : undefined
}

type Plans = readonly CatalogPlan[]
type Places = ReadonlyMap<CatalogPlan, Place>

/**
 * Finds plans that can't be stored together: two plans with the same ID or identifier, or with different objects of the same
 * ID, such as a category. Names the later plan.
 */
export function findContradictions(plans: Plans, places: Places = new Map()): Defect[] {
  const fit = createFit<CatalogPlan>()
  for (const plan of plans) fit.add({ base: null, own: plan, current: null })
  const misfit = fit.findMisfit()
  const contradictions = misfit && 'contradictions' in misfit ? misfit.contradictions : []
  const shared = contradictions.filter(({ value }) => isJsonObject(value))
  const byName = new Map(plans.map((plan) => [plan.identifier, plan]))
  const find = (identifier: string) => {
    const plan = byName.get(identifier)
    return plan ? placeOf(plan, places) : undefined
  }
  return [...findDuplicates(plans, places), ...listDisagreements(shared, find)]
}

function placeOf(plan: CatalogPlan, places: Places): Place {
  return places.get(plan) ?? { kind: 'plan', identifier: plan.identifier }
}

function findDuplicates(plans: Plans, places: Places): Defect[] {
  const owners = new Map<string | number, CatalogPlan>()
  return plans.flatMap((plan) =>
    (['id', 'identifier'] as const).flatMap((field): Defect[] => {
      const owner = owners.get(plan[field])
      owners.set(plan[field], owner ?? plan)
      const place = { ...placeOf(plan, places), field }
      const found = describeValue(plan[field])
      return owner ? [{ place, expected: noOther(field), found, alsoAt: placeOf(owner, places) }] : []
    }),
  )
}

/** @param findPlace of a plan, by its identifier. */
export function listDisagreements(
  contradictions: readonly Contradiction[],
  findPlace: (identifier: string) => Place | undefined = () => undefined,
): Defect[] {
  return contradictions.flatMap((contradiction): Defect[] => {
    const { field, id, plan, value, otherPlan, otherValue } = contradiction
    const place: Place = findPlace(plan) ?? { kind: 'plan', identifier: plan }
    if (!isJsonObject(value)) {
      const alsoAt: Place = { kind: 'plan', identifier: otherPlan }
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

/** The upper half of the IDs: the demo catalog has the highest one, above which no plan can have an ID. */
const upperIds = 2 ** 52

/** Finds plans that have the ID or the identifier of another plan of the catalog: partners know a plan by both. */
export function findIdentityMismatches(plans: Plans, catalog: Plans): Defect[] {
  const identifiers = new Map(catalog.map(({ id, identifier }) => [id, identifier]))
  const ids = new Map(catalog.map(({ id, identifier }) => [identifier, id]))
  let freeId = [...catalog, ...plans].reduce((highest, { id }) => (id < upperIds ? Math.max(highest, id) : highest), 0)
  return plans.flatMap((plan): Defect[] => {
    const [owner, id] = [identifiers.get(plan.id) ?? plan.identifier, ids.get(plan.identifier) ?? plan.id]
    if (id === plan.id && owner === plan.identifier) return []
    const place: Place = { kind: 'plan', identifier: plan.identifier, field: 'id' }
    const found = `${plan.id}${owner === plan.identifier ? '' : `, the id of plan ${describeValue(owner)}`}`
    if (id !== plan.id) return [{ place, expected: `${id}, its id in the catalog`, found, fix: 'A plan keeps its id.' }]
    freeId += 1
    const fix = `The id ${freeId} is free.`
    return [{ place, expected: 'an id that no other plan of the catalog has', found, fix }]
  })
}
