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
export interface SharedValue {
  /** A field with an object that has an ID, such as `category`; `identifier`; or `members`, for the names of a plan's fields. */
  field: string
  /** The ID of the object, or the identifier. Plans with the same `field` and `id` must have the same `value`. */
  id: unknown
  /** The object; the ID of the plan that has the identifier; or the names of the fields. */
  value: unknown
}

interface PlanValue extends SharedValue {
  /** The identifier of the plan. */
  plan: string
}

/** Two plans that disagree on a shared value: a plan of the change, and another plan of the change or of the catalog. */
export interface Contradiction extends PlanValue {
  otherPlan: string
  otherValue: unknown
}

/** The reason why a change can't be published. */
export type Obstacle =
  /** `by` has the IDs of the pending publications that will change these fields first. Empty or undefined: others already changed the fields. */
  | { kind: 'changed_fields'; conflicts: FieldConflict[]; by?: readonly number[] }
  | { kind: 'identifier' | 'object' | 'members'; contradictions: Contradiction[] }
  /** The database has fewer or more plans of the publication than were proposed. */
  | { kind: 'incomplete' }
  /** The change was computed from a newer catalog than the database has: an older database was restored. */
  | { kind: 'restored' }

/** Compares a change with the catalog. Takes plans one by one, because memory may not hold all. Finds obstacles only among plans that were added. */
export function createObstacleFinder<Plan extends PlainPlan>() {
  const conflicts: FieldConflict[] = []
  const contradictions: Contradiction[] = []
  const sharedValues = new Map<string, PlanValue & { isNew: boolean }>()

  /** Adds the shared values of a plan of the change to `sharedValues`, or compares them with those of earlier plans there. A shared value is new unless `current`, the plan in the catalog, has it. */
  const addSharedValues = (plan: PlainPlan, current: PlainPlan | null) => {
    const newKeys = new Set(listNewSharedValues(current, plan).map(makeValueKey))
    for (const sharedValue of listSharedValues(plan)) {
      const key = makeValueKey(sharedValue)
      const isNew = newKeys.has(key)
      const earlierValue = sharedValues.get(key)
      if (earlierValue === undefined) sharedValues.set(key, { ...sharedValue, plan: readIdentifier(plan), isNew })
      else {
        compareSharedValues({ ...sharedValue, plan: readIdentifier(plan) }, earlierValue)
        earlierValue.isNew ||= isNew
      }
    }
  }
  /** Records a contradiction if two plans have different values for the same `field` and `id`. */
  const compareSharedValues = (own: PlanValue, other: PlanValue) => {
    const { field, id, plan, value } = own
    if (isSameJson(value, other.value)) return
    contradictions.push({ field, id, plan, value, otherPlan: other.plan, otherValue: other.value })
  }

  return {
    /** Adds a plan of the change. @returns the plan after the change, merged with later changes by others. */
    add: ({ base, own, current }: ComparedPlan<Plan>): Plan | null => {
      const merge = mergePlan(base, own, current)
      conflicts.push(...merge.conflicts)
      if (merge.plan !== null) addSharedValues(merge.plan, current)
      return merge.plan
    },
    /** Lists the shared values that the change adds or changes. Other plans of the catalog must agree with these values. */
    listValuesToCompare: (): SharedValue[] => [...sharedValues.values()].filter(({ isNew }) => isNew),
    /** Compares the new shared values with plans of the catalog that are not in the change. A caller may leave out plans without such a value. */
    addOtherPlans: (plans: Iterable<PlainPlan>): void => {
      for (const plan of plans) {
        for (const sharedValue of listSharedValues(plan)) {
          const own = sharedValues.get(makeValueKey(sharedValue))
          if (own?.isNew) compareSharedValues(own, { ...sharedValue, plan: readIdentifier(plan) })
        }
      }
    },
    /** @returns undefined when the plans that were added so far fit. */
    findObstacle: (): Obstacle | undefined => {
      if (conflicts.length > 0) return { kind: 'changed_fields', conflicts }
      const [firstContradiction] = contradictions
      if (firstContradiction === undefined) return undefined
      return { kind: getObstacleKind(firstContradiction), contradictions }
    },
  }
}

const getObstacleKind = ({ field }: Contradiction) => (field === 'identifier' || field === 'members' ? field : 'object')

/** Plans must agree on shared values with the same key. */
export const makeValueKey = ({ field, id }: Pick<SharedValue, 'field' | 'id'>) => `${field} ${String(id)}`
const readIdentifier = (plan: PlainPlan) => String(plan['identifier'])

function listSharedValues(plan: PlainPlan): SharedValue[] {
  // A field with the value undefined does not exist.
  const names = Object.keys(plan).filter((name) => plan[name] !== undefined)
  return [
    { field: 'identifier', id: plan['identifier'], value: plan['id'] },
    { field: 'members', id: '', value: names.toSorted().join() },
    ...listSharedObjects(plan),
  ]
}

/** Lists the shared values that a change of a plan adds or changes: other plans must agree on them. Null stands for a plan that doesn't exist. */
export function listNewSharedValues(before: PlainPlan | null, after: PlainPlan | null): SharedValue[] {
  if (after === null) return []
  const oldValues = new Map(listSharedValues(before ?? {}).map((each) => [makeValueKey(each), each.value]))
  return listSharedValues(after).filter((each) => !isSameJson(oldValues.get(makeValueKey(each)), each.value))
}

/** Lists the objects that a plan shares with other plans: objects with an ID, such as the category. */
export function listSharedObjects(plan: PlainPlan): (SharedValue & { value: Record<string, unknown> })[] {
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
      return `publication ${nameSome(by.map(String))} changes ${names} first`
    }
    case 'identifier':
      return `another plan already has the identifier ${nameContradictions(obstacle)}`
    case 'object': {
      const ids = new Set(
        obstacle.contradictions.flatMap(({ field, value }) => (isJsonObject(value) ? `${field}.id` : [])),
      )
      return `${nameContradictions(obstacle)} would differ, but plans with the same ${nameSome([...ids])} must agree`
    }
    case 'members':
      return 'its plans have other fields than the catalog'
    case 'incomplete':
      return 'the database lacks some of its plans, or has more'
    case 'restored':
      return 'it was computed from a newer catalog: an older database was restored'
  }
}

/** Names the contradictions of an obstacle's kind: identifiers, or values such as `category.name of gold and of silver`. */
export function nameContradictions(obstacle: Extract<Obstacle, { contradictions: Contradiction[] }>): string {
  return nameSome(
    obstacle.contradictions.flatMap((contradiction) => {
      const { plan, otherPlan } = contradiction
      if (getObstacleKind(contradiction) !== obstacle.kind) return []
      if (obstacle.kind === 'identifier') return plan
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
