// Changes of a single plan: where it is viewable, whether it takes new investment, and its fields.
import { applyPatch, indexShared, listSharedIds, parseAssignments } from '../differences/plan-patch.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { abbreviate } from '../../../abbreviate.ts'
import { planSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalogPlan, selectSharing } from '../../../db/catalog-queries.ts'
import type { Store } from '../../store/store.ts'
import { findCurrentPlan } from '../catalog/catalog-plans.ts'
import { checkCountry } from '../../shared/country.ts'
import { checkConsistency, makeDefectError } from '../differences/defects.ts'
import {
  nothingChanged,
  publishChange,
  type Publication,
  type PublicationRequest,
} from '../publications/publications.ts'
import { describeDue } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'
import { selectPendingChanges } from './plan-explanation.ts'

export interface PlanResult {
  /** The plan before the change. */
  before: CatalogPlan
  /** The plan after the change. */
  plan: CatalogPlan
  /** undefined when there was nothing to change. */
  publication: Publication | undefined
}

/** Puts a plan on the lists of countries, or takes it off. */
export async function setViewable(
  store: Store,
  name: string,
  { countries, isViewable }: { countries: readonly string[]; isViewable: boolean },
  request: PublicationRequest,
): Promise<PlanResult> {
  countries.forEach(checkCountry)
  return changePlan(store, name, request, ({ viewableIn }) => {
    const others = viewableIn.filter((code) => !countries.includes(code))
    return { viewableIn: isViewable ? [...others, ...new Set(countries)].toSorted() : others }
  })
}

/**
 * Closes a plan to new investment. It stays on its lists.
 * @param note why, for partners to show to their customers.
 */
export async function closePlan(
  store: Store,
  name: string,
  note: string,
  request: PublicationRequest,
): Promise<PlanResult> {
  const { error } = planSchema.shape.nonInvestableNote.safeParse(note)
  if (error) throw new UserError(`The public note must be ${error.issues[0]?.message}; it is ${abbreviate(note)}.`)
  return changePlan(store, name, request, () => ({ isInvestable: false, nonInvestableNote: note }))
}

/** Opens a plan to new investment, and removes its note. */
export function openPlan(store: Store, name: string, request: PublicationRequest): Promise<PlanResult> {
  return changePlan(store, name, request, () => ({ isInvestable: true, nonInvestableNote: null }))
}

/**
 * Changes fields of a plan, and publishes the change.
 * @param assignments such as `name=Gold` or `minTopUpAmounts.KES=500`; `null` is null.
 * @throws UserError that names every field with a value that a plan can't have.
 */
export async function setFields(
  store: Store,
  name: string,
  assignments: readonly string[],
  request: PublicationRequest,
): Promise<PlanResult> {
  const patch = parseAssignments(assignments)
  if (patch.defects.length > 0) throw makeDefectError(patch.defects, nothingChanged)
  return changePlan(store, name, request, async (before) => {
    const sharing = await selectSharing(store.db, listSharedIds(before, patch), before.id)
    const patched = applyPatch(before, patch, indexShared(sharing))
    if ('defects' in patched) throw makeDefectError(patched.defects, nothingChanged)
    checkConsistency([...sharing, patched.plan], nothingChanged)
    return patched.plan
  })
}

/** @returns the fields that change. */
type Decide = (before: CatalogPlan) => Partial<CatalogPlan> | Promise<Partial<CatalogPlan>>

async function changePlan(
  store: Store,
  name: string,
  request: PublicationRequest,
  decide: Decide,
): Promise<PlanResult> {
  const { plan: before, revision } = await findCurrentPlan(store, name)
  const plan = { ...before, ...(await decide(before)) }
  const changes = isSameJson(before, plan) ? [] : [{ planId: before.id, before, after: plan }]
  if (changes.length === 0 && request.dueAt !== undefined) {
    throw new UserError(await explainNoChange(store, before, request.dueAt, decide))
  }
  const publication = await publishChange(store, { baseRevision: revision, changes }, request)
  const isMerged = publication !== undefined && publication.replacesId !== null
  const merged = isMerged ? await selectCatalogPlan(store.db, String(before.id)) : undefined
  return { before, plan: merged?.plan ?? plan, publication }
}

/** A change is computed from the plan as it is now, so it can't be scheduled before an earlier one was published. */
async function explainNoChange(
  store: Store,
  { id: planId, identifier }: CatalogPlan,
  time: number,
  decide: Decide,
): Promise<string> {
  for (const { publication, change } of await selectPendingChanges(store, String(planId))) {
    const { id, dueAt, willConflict } = publication
    const { after } = change
    if (after === null || willConflict !== null || (dueAt ?? 0) > time) continue
    if (isSameJson(after, { ...after, ...(await decide(after)) })) continue
    const when = describeDue(dueAt)
    return `${identifier} is like that now. Publication ${id} will change that ${when}: schedule this after it is published.`
  }
  return `${identifier} is like that now, so there is nothing to publish at that time.`
}
