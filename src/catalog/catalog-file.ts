// Reads and writes catalog files, `{ "plans": [ … ] }`. An exported file also says where its plans come from. Node only.
import { z } from 'zod'
import { isJsonObject, readPath } from '../json.ts'
import { findUnknownName, type Defect, type Invalid, type Place } from './defect.ts'
import { readJson } from './json-text.ts'
import { describeValue } from './plan-cells.ts'
import { planFields } from './plan-columns.ts'
import { catalogPlanSchema, nonNegativeInteger, type CatalogPlan } from './plan-schema.ts'

/** The catalog that a file was exported from. */
export interface CatalogOrigin {
  /** The random ID of its database. */
  catalog: string
  /** Its revision at the export. */
  revision: number
}

export interface CatalogFile {
  plans: CatalogPlan[]
  /** undefined when the file was not exported. */
  origin?: CatalogOrigin | undefined
  /** Columns of a spreadsheet that are no field of a plan. */
  ignored?: readonly string[] | undefined
}

export type CatalogResult = ({ kind: 'catalog' } & CatalogFile) | Invalid

const catalogId = '16 hexadecimal digits in lower case'

const fileSchema = z
  .strictObject(
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
  .superRefine(({ catalog, revision }, context) => {
    if ((catalog === undefined) === (revision === undefined)) return
    const [missing, present] = catalog === undefined ? ['catalog', 'revision'] : ['revision', 'catalog']
    context.addIssue({ code: 'custom', path: [missing], message: `a value, because the file has a ${present}` })
  })

export function formatCatalog(plans: readonly CatalogPlan[], origin?: CatalogOrigin): string {
  return `${JSON.stringify({ ...origin, plans }, null, 2)}\n`
}

/**
 * Finds all defects of a file at once.
 * @param known the catalog that the file will change, as in `findConflicts`.
 */
export function parseCatalog(json: string, known: Plans = []): CatalogResult {
  const { candidates, origin, defects } = parseFile(json)
  const places = new Map<CatalogPlan, Place>()
  for (const [index, candidate] of candidates.entries()) {
    const { data, error } = catalogPlanSchema.safeParse(candidate)
    if (data) places.set(data, { kind: 'plan', identifier: data.identifier, number: index + 1 })
    if (error) defects.push(...listDefects(error, candidate, locatePlan(candidate, index)))
  }
  const plans = [...places.keys()]
  defects.push(...findConflicts(plans, (plan) => places.get(plan), known))
  defects.push(...findStrangers(plans, known, known, (plan) => places.get(plan)))
  return defects.length > 0 ? { kind: 'invalid', defects } : { kind: 'catalog', plans, origin }
}

/** Parses everything but the plans, which may be anything. */
export function parseFile(json: string): Pick<CatalogFile, 'origin'> & { candidates: unknown[]; defects: Defect[] } {
  const { value, defects } = readJson(json)
  if (value === undefined) return { candidates: [], defects }
  const { data, error } = fileSchema.safeParse(value)
  if (error) defects.push(...listDefects(error, value, { kind: 'file' }, Object.keys(fileSchema.shape)))
  const plans = readPath(value, 'plans')
  const candidates: unknown[] = Array.isArray(plans) ? plans : []
  const { catalog, revision } = data ?? {}
  const origin = catalog === undefined || revision === undefined ? undefined : { catalog, revision }
  return { candidates, defects, origin }
}

/** @param index from 0. */
export function locatePlan(plan: unknown, index: number): Place {
  const identifier = readPath(plan, 'identifier')
  return { kind: 'plan', ...(typeof identifier === 'string' ? { identifier } : { number: index + 1 }) }
}

/** @param names the known fields. */
export function listDefects(
  { issues }: z.ZodError,
  value: unknown,
  place: Place,
  names: readonly string[] = planFields.map(({ name }) => name),
): Defect[] {
  return issues.flatMap((issue): Defect[] => {
    // For an invalid key, zod's path ends with the key.
    const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path
    const there: Place = path.length === 0 ? place : { ...place, field: path.join('.') }
    if (issue.code === 'unrecognized_keys') {
      const shape = planFields.find(({ name }) => name === path[0])?.shape
      const candidates = shape && 'members' in shape ? [...shape.members.keys()] : names
      return issue.keys.map((key) => findUnknownName(there, 'field', key, candidates))
    }
    const found = issue.code === 'invalid_key' ? issue.path.at(-1) : readPath(value, ...path)
    return [{ place: there, expected: issue.message, found: describeValue(found) }]
  })
}

type Plans = Iterable<CatalogPlan>
type Locate = (plan: CatalogPlan) => Place | undefined

/**
 * Finds plans that can't be stored together: two plans with the same ID or identifier, or with different objects of the same
 * ID, such as a category. Names the later plan, or the plans whose object is not the one of `known`, or else is rarer.
 * @param known the catalog before the change.
 */
export function findConflicts(
  plans: Iterable<CatalogPlan>,
  locate: Locate = () => undefined,
  known: Plans = [],
): Defect[] {
  const placeOf = (plan: CatalogPlan): Place => locate(plan) ?? { kind: 'plan', identifier: plan.identifier }
  const defects: Defect[] = []
  const owners = new Map<string | number, CatalogPlan>()
  for (const plan of plans) {
    for (const field of ['id', 'identifier'] as const) {
      const owner = owners.get(plan[field])
      if (owner === undefined) owners.set(plan[field], plan)
      else {
        const expected = `an ${field} that no other plan has`
        const found = describeValue(plan[field])
        defects.push({ place: { ...placeOf(plan), field }, expected, found, alsoAt: placeOf(owner) })
      }
    }
  }
  const shared = groupShared(plans)
  const isInconsistent = [...shared.values()].some(({ size }) => size > 1)
  const before = isInconsistent ? groupShared(known) : new Map<string, Variants>()
  const findIn = ([key, variants]: [string, Variants]) =>
    findVariants(key, variants, before.get(key) ?? new Map(), placeOf)
  return [...defects, ...[...shared].flatMap(findIn)]
}

/**
 * Finds plans that have the ID or the identifier of another plan of the catalog: partners know a plan by both.
 * @param others the plans of the catalog that stay.
 */
export function findStrangers(plans: Plans, catalog: Plans, others: Plans, locate: Locate = () => undefined): Defect[] {
  const identifiers = new Map([...catalog].map(({ id, identifier }) => [id, identifier]))
  const ids = new Map([...others].map(({ id, identifier }) => [identifier, id]))
  const fix = 'A plan keeps both. To begin anew, first import { "plans": [] } with --prune.'
  return [...plans].flatMap((plan): Defect[] => {
    const place = { ...(locate(plan) ?? { kind: 'plan', identifier: plan.identifier }), field: 'id' }
    const [owner, id] = [identifiers.get(plan.id) ?? plan.identifier, ids.get(plan.identifier) ?? plan.id]
    const expected = id === plan.id ? 'an id that no other plan of the catalog has' : `${id}, its id in the catalog`
    const found = `${plan.id}${owner === plan.identifier ? '' : `, the id of plan ${describeValue(owner)}`}`
    return id === plan.id && owner === plan.identifier ? [] : [{ place, expected, found, fix }]
  })
}

interface Variant {
  field: string
  value: Record<string, unknown>
  plans: CatalogPlan[]
}

/** The objects with one ID, by their JSON. */
type Variants = Map<string, Variant>

/** Groups objects with an ID by field and ID, such as `category.id 3`. */
function groupShared(plans: Plans): Map<string, Variants> {
  const groups = new Map<string, Variants>()
  for (const plan of plans) {
    for (const [field, value] of Object.entries(plan)) {
      if (!isJsonObject(value) || !('id' in value)) continue
      const key = `${field}.id ${String(value['id'])}`
      const variants: Variants = groups.get(key) ?? new Map()
      groups.set(key, variants)
      const json = JSON.stringify(value)
      const variant = variants.get(json)
      if (variant) variant.plans.push(plan)
      else variants.set(json, { field, value, plans: [plan] })
    }
  }
  return groups
}

function findVariants(
  key: string,
  variants: Variants,
  known: Variants,
  placeOf: (plan: CatalogPlan) => Place,
): Defect[] {
  const rank = ([json, { plans }]: [string, Variant]) => (known.has(json) ? Infinity : plans.length)
  const [usual, ...others] = [...variants].toSorted((a, b) => Number(rank(b) > rank(a)) - Number(rank(b) < rank(a)))
  const [example] = usual?.[1].plans ?? []
  if (usual === undefined || example === undefined) return []
  const { value: wanted, plans: holders } = usual[1]
  const count = holders.length === 1 ? '' : `${holders.length} plans with ${key}, such as `
  const owner = `${count}plan ${describeValue(example.identifier)}`
  return others.flatMap(([, { field, value, plans }]) =>
    plans.flatMap((plan) =>
      Object.keys(value).flatMap((member): Defect[] => {
        if (value[member] === wanted[member]) return []
        const expected = `${describeValue(wanted[member])}, as in ${owner}`
        const fix = `Plans with the same ${field}.id share its values: change all of them together.`
        const place = { ...placeOf(plan), field: `${field}.${member}` }
        return [{ place, expected, found: describeValue(value[member]), fix }]
      }),
    ),
  )
}
