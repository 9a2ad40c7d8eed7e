// The only place that decides whether changes fit a catalog. On plain JSON, for the database, the Worker's schedule and the forecast.
import { isJsonObject } from '../json.ts'
import { isSameJson, mergePlan, nameConflicts, type FieldConflict, type PlainPlan } from './merge-plan.ts'
import { nameSome } from '../abbreviate.ts'

/** A plan that a change adds, changes or removes. Null is a plan that doesn't exist. */
export interface ComparedPlan<Plan> {
  /** The plan from which the change was computed. */
  base: Plan | null
  /** The plan after the change. */
  own: Plan | null
  /** The plan in the catalog now. Equals `base` unless others changed the plan since. */
  current: Plan | null
}

/**
 * A value on which the plans of a catalog must agree: all plans with category 5 have the same `category`, one plan has the identifier
 * `gold`.
 */
export interface Claim {
  /** A field with an object that has an ID, such as `category`; `identifier`; or `members`, for the names of a plan's fields. */
  field: string
  /** The ID of the object, or the identifier. Plans with the same `field` and `id` must have the same `value`. */
  id: unknown
  /** The object; the ID of the plan that has the identifier; or the names of the fields. */
  value: unknown
}

interface OwnedClaim extends Claim {
  /** The identifier of the plan. */
  plan: string
}

/** Two plans that disagree on a claim: a plan of the change, and another plan of the change or of the catalog. */
export interface Contradiction extends OwnedClaim {
  otherPlan: string
  otherValue: unknown
}

/** Why a change does not fit. */
export type Misfit =
  /** @param by the pending publications that will change these fields first; empty when others already changed them. */
  | { kind: 'changed_fields'; conflicts: FieldConflict[]; by?: readonly number[] }
  | { kind: 'identifier' | 'object' | 'members'; contradictions: Contradiction[] }
  /** Some plans of the publication were never written, or were deleted. */
  | { kind: 'incomplete' }
  /** The change was computed from a newer catalog than the database has: an older database was restored. */
  | { kind: 'restored' }

/** Compares a change with the catalog. Takes the plans one by one, because memory may not hold all. Add all before you ask for a result. */
export function createMisfitFinder<Plan extends PlainPlan>() {
  const conflicts: FieldConflict[] = []
  const contradictions: Contradiction[] = []
  const claims = new Map<string, OwnedClaim & { isNew: boolean }>()

  const addClaims = (plan: PlainPlan, current: PlainPlan | null) => {
    const added = new Set(listNewClaims(current, plan).map(keyOf))
    for (const claim of listClaims(plan)) {
      const key = keyOf(claim)
      const isNew = added.has(key)
      const first = claims.get(key)
      if (first === undefined) claims.set(key, { ...claim, plan: nameOf(plan), isNew })
      else {
        compareClaims({ ...claim, plan: nameOf(plan) }, first)
        first.isNew ||= isNew
      }
    }
  }
  const compareClaims = (own: OwnedClaim, other: OwnedClaim) => {
    const { field, id, plan, value } = own
    if (isSameJson(value, other.value)) return
    contradictions.push({ field, id, plan, value, otherPlan: other.plan, otherValue: other.value })
  }

  return {
    /** Adds a plan of the change. @returns the plan after the change, merged with later changes by others. */
    add: ({ base, own, current }: ComparedPlan<Plan>): Plan | null => {
      const merge = mergePlan(base, own, current)
      conflicts.push(...merge.conflicts)
      if (merge.plan !== null) addClaims(merge.plan, current)
      return merge.plan
    },
    /** Lists the claims that the change adds or changes: other plans of the catalog must agree with them. */
    listNewClaims: (): Claim[] => [...claims.values()].filter(({ isNew }) => isNew),
    /** Compares other plans of the catalog. Only plans that share a new claim make a difference. */
    addOthers: (plans: Iterable<PlainPlan>): void => {
      for (const plan of plans) {
        for (const claim of listClaims(plan)) {
          const own = claims.get(keyOf(claim))
          if (own?.isNew) compareClaims(own, { ...claim, plan: nameOf(plan) })
        }
      }
    },
    /** @returns undefined when the change fits. */
    findMisfit: (): Misfit | undefined => {
      if (conflicts.length > 0) return { kind: 'changed_fields', conflicts }
      const [first] = contradictions
      if (first === undefined) return undefined
      const kind = first.field === 'identifier' || first.field === 'members' ? first.field : 'object'
      return { kind, contradictions }
    },
  }
}

const keyOf = ({ field, id }: Claim) => `${field} ${String(id)}`
const nameOf = (plan: PlainPlan) => String(plan['identifier'])

/** Lists the names of a plan's fields. A removed field has the value undefined. */
const listFieldNames = (plan: PlainPlan) => Object.keys(plan).filter((name) => plan[name] !== undefined)

/** Lists all claims of a plan. */
function listClaims(plan: PlainPlan): Claim[] {
  return [
    { field: 'identifier', id: plan['identifier'], value: plan['id'] },
    { field: 'members', id: '', value: listFieldNames(plan).toSorted().join() },
    ...listSharedObjects(plan),
  ]
}

/**
 * Lists the claims of a plan that a change of it adds or changes.
 * @param before the plan before the change.
 * @param after null if it is removed.
 */
export function listNewClaims(before: PlainPlan | null, after: PlainPlan | null): Claim[] {
  if (after === null) return []
  const known = new Map((before ? listClaims(before) : []).map((claim) => [keyOf(claim), claim.value]))
  return listClaims(after).filter((claim) => !isSameJson(known.get(keyOf(claim)), claim.value))
}

/** Lists the claims about a plan's objects that have an ID, such as its category. */
export function listSharedObjects(plan: PlainPlan): (Claim & { value: Record<string, unknown> })[] {
  return Object.entries(plan).flatMap(([field, value]) =>
    isJsonObject(value) && 'id' in value ? [{ field, id: value['id'], value }] : [],
  )
}

/** Says why a change does not fit, as a part of a sentence, such as `others changed name of gold`. */
export function describeMisfit(misfit: Misfit): string {
  switch (misfit.kind) {
    case 'changed_fields': {
      const { by = [], conflicts } = misfit
      const names = nameConflicts(conflicts)
      if (by.length === 0) return `others changed ${names}`
      return `publication ${nameSome(by.map(String))} changes ${names} before it`
    }
    case 'identifier':
      return `another plan already uses one of its identifiers: ${nameSome(misfit.contradictions.map(({ id }) => String(id)))}`
    case 'object':
      return `${nameContradictions(misfit.contradictions)} would differ from other plans`
    case 'members':
      return 'its plans have other fields than the catalog'
    case 'incomplete':
      return 'some of its plans are missing in the database'
    case 'restored':
      return 'it was computed from a newer catalog: an older database was restored'
  }
}

/** Names the values on which plans disagree, such as `category.name of gold`. */
export function nameContradictions(contradictions: readonly Contradiction[]): string {
  return nameSome(
    contradictions.flatMap((contradiction) =>
      listDifferingMembers(contradiction).map((path) => `${path} of ${contradiction.plan}`),
    ),
  )
}

/** Lists the paths whose values differ, such as `category.name`, or only the field if its values are no objects. */
export function listDifferingMembers({ field, value, otherValue }: Contradiction): string[] {
  if (!isJsonObject(value) || !isJsonObject(otherValue)) return [field]
  const members = Object.keys({ ...value, ...otherValue })
  return members.filter((member) => value[member] !== otherValue[member]).map((member) => `${field}.${member}`)
}
