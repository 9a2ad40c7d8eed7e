// Decides if changes of plans fit a catalog. Works on plain JSON, without the schema. Used by publications, forecasts and the Worker's schedule.
import { isJsonObject } from '../json.ts'
import { isSameJson, mergePlan, nameConflicts, type FieldConflict, type PlainPlan } from './merge-plan.ts'
import { nameSome } from '../abbreviate.ts'

/** One plan of a change. Null stands for a plan that doesn't exist. */
export interface ComparedPlan<Plan> {
  /** The plan from which the change was computed. */
  base: Plan | null
  /** The plan after the change. */
  own: Plan | null
  /** The plan in the catalog now. Equals `base` unless others changed the plan since. */
  current: Plan | null
}

/** A value on which the plans of a catalog must agree: all plans with category 5 have one `category`, and one plan is called `gold`. */
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

/** The reason why a change can't be published. */
export type Obstacle =
  /** `by` has the IDs of the pending publications that will change these fields first. It is empty when others already changed them. */
  | { kind: 'changed_fields'; conflicts: FieldConflict[]; by?: readonly number[] }
  | { kind: 'identifier' | 'object' | 'members'; contradictions: Contradiction[] }
  /** Some plans of the publication were never written, or were deleted. */
  | { kind: 'incomplete' }
  /** The change was computed from a newer catalog than the database has: an older database was restored. */
  | { kind: 'restored' }

/** Compares a change with the catalog. Takes plans one by one, because memory may not hold all. Add all plans before you ask for an obstacle. */
export function createObstacleFinder<Plan extends PlainPlan>() {
  const conflicts: FieldConflict[] = []
  const contradictions: Contradiction[] = []
  const claims = new Map<string, OwnedClaim & { isNew: boolean }>()

  /** Adds the claims of a plan of the change. A claim is new unless `current`, the plan in the catalog, has it. */
  const addClaims = (plan: PlainPlan, current: PlainPlan | null) => {
    const newKeys = new Set(listNewClaims(current, plan).map(makeClaimKey))
    for (const claim of listClaims(plan)) {
      const key = makeClaimKey(claim)
      const isNew = newKeys.has(key)
      const earlierClaim = claims.get(key)
      if (earlierClaim === undefined) claims.set(key, { ...claim, plan: readIdentifier(plan), isNew })
      else {
        compareClaims({ ...claim, plan: readIdentifier(plan) }, earlierClaim)
        earlierClaim.isNew ||= isNew
      }
    }
  }
  /** Records a contradiction if the values of two claims with the same key differ. */
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
    /** Lists the claims that the change adds or changes. Other plans of the catalog must agree with these claims. */
    listNewClaims: (): Claim[] => [...claims.values()].filter(({ isNew }) => isNew),
    /** Compares the new claims with plans of the catalog that are not in the change. A caller may leave out plans without such a claim. */
    addOthers: (plans: Iterable<PlainPlan>): void => {
      for (const plan of plans) {
        for (const claim of listClaims(plan)) {
          const own = claims.get(makeClaimKey(claim))
          if (own?.isNew) compareClaims(own, { ...claim, plan: readIdentifier(plan) })
        }
      }
    },
    /** @returns undefined when the change fits. */
    findObstacle: (): Obstacle | undefined => {
      if (conflicts.length > 0) return { kind: 'changed_fields', conflicts }
      const [first] = contradictions
      if (first === undefined) return undefined
      const kind = first.field === 'identifier' || first.field === 'members' ? first.field : 'object'
      return { kind, contradictions }
    },
  }
}

/** Plans must agree on all claims with the same key. */
const makeClaimKey = ({ field, id }: Claim) => `${field} ${String(id)}`
const readIdentifier = (plan: PlainPlan) => String(plan['identifier'])

function listClaims(plan: PlainPlan): Claim[] {
  // A field with the value undefined does not exist.
  const names = Object.keys(plan).filter((name) => plan[name] !== undefined)
  return [
    { field: 'identifier', id: plan['identifier'], value: plan['id'] },
    { field: 'members', id: '', value: names.toSorted().join() },
    ...listSharedObjects(plan),
  ]
}

/** Lists the claims that a change of a plan adds or changes: other plans must agree on their values. Null stands for a plan that doesn't exist. */
export function listNewClaims(before: PlainPlan | null, after: PlainPlan | null): Claim[] {
  if (after === null) return []
  const oldValues = new Map((before ? listClaims(before) : []).map((claim) => [makeClaimKey(claim), claim.value]))
  return listClaims(after).filter((claim) => !isSameJson(oldValues.get(makeClaimKey(claim)), claim.value))
}

/** Lists the claims about the objects that a plan shares with other plans: objects with an ID, such as the category. */
export function listSharedObjects(plan: PlainPlan): (Claim & { value: Record<string, unknown> })[] {
  return Object.entries(plan).flatMap(([field, value]) =>
    isJsonObject(value) && 'id' in value ? [{ field, id: value['id'], value }] : [],
  )
}

/** Says why a change does not fit, as a part of a sentence, such as `others changed name of gold`. */
export function describeObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'changed_fields': {
      const { by = [], conflicts } = obstacle
      const names = nameConflicts(conflicts)
      if (by.length === 0) return `others changed ${names}`
      return `publication ${nameSome(by.map(String))} changes ${names} before it`
    }
    case 'identifier':
      return `another plan already has the identifier ${nameContradictions(obstacle.contradictions)}`
    case 'object': {
      const ids = new Set(
        obstacle.contradictions.flatMap(({ field, value }) => (isJsonObject(value) ? `${field}.id` : [])),
      )
      return `${nameContradictions(obstacle.contradictions)} would differ, but plans with the same ${nameSome([...ids])} must agree`
    }
    case 'members':
      return 'its plans have other fields than the catalog'
    case 'incomplete':
      return 'some of its plans are missing in the database'
    case 'restored':
      return 'it was computed from a newer catalog: an older database was restored'
  }
}

/** Names the identifiers that two plans have, or the values on which plans disagree, such as `category.name of gold and of silver`. */
export function nameContradictions(contradictions: readonly Contradiction[]): string {
  return nameSome(
    contradictions.flatMap((contradiction) => {
      const { field, plan, otherPlan } = contradiction
      if (field === 'identifier') return plan
      return listDifferingMembers(contradiction).map((path) => `${path} of ${plan} and of ${otherPlan}`)
    }),
  )
}

/** Lists the paths whose values differ, such as `category.name`, or only the field if its values are no objects. */
export function listDifferingMembers({ field, value, otherValue }: Contradiction): string[] {
  if (!isJsonObject(value) || !isJsonObject(otherValue)) return [field]
  const members = Object.keys({ ...value, ...otherValue })
  return members.filter((member) => value[member] !== otherValue[member]).map((member) => `${field}.${member}`)
}
