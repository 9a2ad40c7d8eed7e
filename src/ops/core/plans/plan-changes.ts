// Prepares changes of one plan for publication, and writes nothing.
import { applyPatch, indexSharedObjects, parseAssignments } from '../differences/plan-patch.ts'
import { listSharedObjects } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { abbreviate } from '../../../abbreviate.ts'
import { planSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectPlansSharingValues } from '../../../db/rebase.ts'
import type { Store } from '../../store/store.ts'
import { requireCurrentPlan } from '../catalog/catalog-plans.ts'
import { checkCountry } from '../../shared/country.ts'
import { makeDefectError } from '../file-formats/defect.ts'
import type { PreparedChange } from '../publications/proposal.ts'
import { UserError } from '../../shared/user-error.ts'

export interface PreparedPlan extends PreparedChange {
  /** The plan after the change. */
  plan: CatalogPlan
}

/** Prepares to put a plan on the lists of countries, or with `isViewable` false, to take the plan off these lists. @throws UserError for an unknown country or plan. */
export async function prepareViewable(
  store: Store,
  identifierOrId: string,
  { countries, isViewable }: { countries: readonly string[]; isViewable: boolean },
): Promise<PreparedPlan> {
  countries.forEach(checkCountry)
  return preparePlan(store, identifierOrId, ({ viewableIn }) => {
    const otherCountries = viewableIn.filter((code) => !countries.includes(code))
    return { viewableIn: isViewable ? [...otherCountries, ...new Set(countries)].toSorted() : otherCountries }
  })
}

/** @param note the reason, which partners show to their customers. @throws UserError for a note that the schema refuses, or an unknown plan. */
export async function prepareClosing(store: Store, identifierOrId: string, note: string): Promise<PreparedPlan> {
  const { data: nonInvestableNote, error } = planSchema.shape.nonInvestableNote.safeParse(note)
  if (error) throw new UserError(`The public note must be ${error.issues[0]?.message}; it is ${abbreviate(note)}.`)
  return preparePlan(store, identifierOrId, () => ({ isInvestable: false, nonInvestableNote }))
}

export function prepareOpening(store: Store, identifierOrId: string): Promise<PreparedPlan> {
  return preparePlan(store, identifierOrId, () => ({ isInvestable: true, nonInvestableNote: null }))
}

/** @param assignments such as `name=Gold` or `minTopUpAmounts.KES=500`. The value `null` means no value. @throws UserError for wrong assignments or an unknown plan. */
export async function prepareFields(
  store: Store,
  identifierOrId: string,
  assignments: readonly string[],
): Promise<PreparedPlan> {
  const patch = parseAssignments(assignments)
  if (patch.defects.length > 0) throw makeDefectError(patch.defects)
  return preparePlan(store, identifierOrId, async (before) => {
    const plansSharingObjects = await selectPlansSharingValues(store.db, listSharedObjects(patch.fields), [before.id])
    const result = applyPatch(before, patch, indexSharedObjects(plansSharingObjects))
    if ('defects' in result) throw makeDefectError(result.defects)
    return result.plan
  })
}

/** Changes only the fields that the command names. @param computeFields returns their new values, from the plan in the catalog. @throws UserError for an unknown plan; any error of `computeFields`. */
async function preparePlan(
  store: Store,
  identifierOrId: string,
  computeFields: (before: CatalogPlan) => Partial<CatalogPlan> | Promise<Partial<CatalogPlan>>,
): Promise<PreparedPlan> {
  const { plan: before, revision: baseRevision } = await requireCurrentPlan(store, identifierOrId)
  const plan = { ...before, ...(await computeFields(before)) }
  const changes = isSameJson(before, plan) ? [] : [{ planId: before.id, before, after: plan }]
  return { plan, baseRevision, changes, areFieldsNamed: true }
}
