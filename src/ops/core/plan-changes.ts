// Changes of a single plan: where it is viewable, and whether it takes new investment.
import { abbreviate, planSchema, type CatalogPlan } from '../../catalog/plan-schema.ts'
import {
  hidePlanStatements,
  selectCatalogRevision,
  showPlanStatements,
  updateInvestableStatements,
} from '../../db/catalog-queries.ts'
import type { Statement } from '../../db/database.ts'
import type { Store } from '../store/store.ts'
import { findPlan, writeNextRevision } from './catalog-plans.ts'
import { checkCountry } from './country.ts'
import { UserError } from './user-error.ts'

/**
 * Puts a plan on the list of a country, or takes it off.
 * @returns the plan as it is now.
 */
export async function setViewable(
  store: Store,
  name: string,
  { country, isViewable }: { country: string; isViewable: boolean },
): Promise<CatalogPlan> {
  checkCountry(country)
  return changePlan(store, name, (known, revision) => {
    const others = known.viewableIn.filter((code) => code !== country)
    const viewableIn = isViewable ? [...others, country].toSorted() : others
    const isDone = viewableIn.length === known.viewableIn.length
    const makeStatements = isViewable ? showPlanStatements : hidePlanStatements
    return {
      plan: { ...known, viewableIn },
      statements: isDone ? [] : makeStatements(store.db, revision, known.id, country),
    }
  })
}

/**
 * Closes a plan to new investment. It stays on its lists.
 * @param note why, for partners to show.
 * @returns the plan as it is now.
 */
export async function closePlan(store: Store, name: string, note: string | undefined): Promise<CatalogPlan> {
  return setNote(store, name, checkNote(note))
}

/**
 * Opens a plan to new investment, and removes its note.
 * @returns the plan as it is now.
 */
export function openPlan(store: Store, name: string): Promise<CatalogPlan> {
  return setNote(store, name, null)
}

function checkNote(note: string | undefined): string {
  const { data, error } = planSchema.shape.nonInvestableNote.safeParse(note)
  if (data) return data
  const expected = error?.issues[0]?.message ?? 'text of 1 to 2000 characters'
  throw new UserError(`The note must be ${expected}; it is ${abbreviate(note)}.`)
}

function setNote(store: Store, name: string, note: string | null): Promise<CatalogPlan> {
  return changePlan(store, name, (known, revision) => ({
    plan: { ...known, isInvestable: note === null, nonInvestableNote: note },
    statements: known.nonInvestableNote === note ? [] : updateInvestableStatements(store.db, revision, known.id, note),
  }))
}

interface PlanChange {
  /** The plan after the change. */
  plan: CatalogPlan
  /** Empty when there is nothing to change. */
  statements: Statement[]
}

async function changePlan(
  store: Store,
  name: string,
  decide: (known: CatalogPlan, revision: number) => PlanChange,
): Promise<CatalogPlan> {
  // Reads the revision first: when the catalog changes in between, the write is refused.
  const revision = await selectCatalogRevision(store.db)
  const { plan, statements } = decide(await findPlan(store, name), revision)
  if (statements.length > 0) await writeNextRevision(store, statements)
  return plan
}
