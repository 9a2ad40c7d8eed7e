// Changes of a single plan: where it is viewable, whether it takes new investment, and its fields.
import { applyPatch, indexShared, parseAssignments } from '../../catalog/plan-patch.ts'
import { abbreviate } from '../../abbreviate.ts'
import { planSchema, type CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../db/catalog-queries.ts'
import type { Store } from '../store/store.ts'
import { pendingStates, selectPublications } from '../../db/publication-queries.ts'
import { findPlan } from './catalog-plans.ts'
import { checkCountry } from './country.ts'
import { checkConsistency, refuseDefects } from './defects.ts'
import { nothingChanged, publishChange, type Publication, type PublicationRequest } from './publications.ts'
import { UserError } from '../shared/user-error.ts'

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
  return changePlan(store, name, request, (known) => {
    if (countries.every((code) => known.viewableIn.includes(code) === isViewable)) return known
    const others = known.viewableIn.filter((code) => !countries.includes(code))
    return { ...known, viewableIn: isViewable ? [...others, ...new Set(countries)].toSorted() : others }
  })
}

/**
 * Closes a plan to new investment. It stays on its lists.
 * @param note why, for partners to show.
 */
export async function closePlan(
  store: Store,
  name: string,
  note: string | undefined,
  request: PublicationRequest,
): Promise<PlanResult> {
  return setNote(store, name, checkNote(note), request)
}

/** Opens a plan to new investment, and removes its note. */
export function openPlan(store: Store, name: string, request: PublicationRequest): Promise<PlanResult> {
  return setNote(store, name, null, request)
}

function checkNote(note: string | undefined): string {
  if (note === undefined) throw new UserError('A closed plan needs a reason for partners: add --note "Sold out."')
  const { data, error } = planSchema.shape.nonInvestableNote.safeParse(note)
  if (data) return data
  const expected = error?.issues[0]?.message ?? 'text of 1 to 2000 characters'
  throw new UserError(`The note must be ${expected}; it is ${abbreviate(note)}.`)
}

function setNote(store: Store, name: string, note: string | null, request: PublicationRequest): Promise<PlanResult> {
  return changePlan(store, name, request, (known) =>
    known.nonInvestableNote === note ? known : { ...known, isInvestable: note === null, nonInvestableNote: note },
  )
}

/**
 * Changes fields of a plan.
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
  if (patch.defects.length > 0) throw refuseDefects(patch.defects, nothingChanged)
  return changePlan(store, name, request, async (known) => {
    const { plans: catalog } = await selectCatalog(store.db)
    const patched = applyPatch(known, patch, indexShared(catalog))
    if ('defects' in patched) throw refuseDefects(patched.defects, nothingChanged)
    const { plan } = patched
    checkConsistency([...catalog.filter(({ id }) => id !== plan.id), plan], catalog, nothingChanged)
    return plan
  })
}

/** @param decide returns the plan after the change, or the same object when there is nothing to change. */
async function changePlan(
  store: Store,
  name: string,
  request: PublicationRequest,
  decide: (known: CatalogPlan) => CatalogPlan | Promise<CatalogPlan>,
): Promise<PlanResult> {
  // Reads the revision first: when the plan changes in between, publishing is refused.
  const { revision } = await selectCatalogOrigin(store.db)
  const known = await findPlan(store, name)
  const plan = await decide(known)
  // The plan may be as wanted now, and not at that time.
  if (plan === known && request.dueAt !== undefined) await checkNotPending(store, known)
  const changes = plan === known ? [] : [{ planId: known.id, before: known, after: plan }]
  return { before: known, plan, publication: await publishChange(store, { baseRevision: revision, changes }, request) }
}

/** @throws UserError when a pending publication changes the plan: a later change is computed from the catalog of now. */
async function checkNotPending({ db }: Store, { id, identifier }: CatalogPlan): Promise<void> {
  const [pending] = await selectPublications(db, { planIds: [id], states: pendingStates })
  if (pending === undefined) return
  throw new UserError(
    `${identifier} is like that now. Wait until the pending publication ${pending.id} is published, then make this change. ${nothingChanged}`,
  )
}
