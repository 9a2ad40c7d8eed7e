// What an operator must know of pending publications before a change.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { nameContradictions, type Misfit } from '../../../catalog/fit.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectPublications, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { describeDue } from '../../shared/time-arguments.ts'
import { comparePlans, partOf } from '../differences/plan-paths.ts'
import { foresee, readPending } from './forecast.ts'

/** @param ownId of the change, if it is pending itself, or of the publication that it makes again. */
export async function findPendingDoubts(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  ownId: number | undefined,
): Promise<string[]> {
  // Otherwise, it does not concern what pending publications make of other plans.
  const isShared = changes.some(changesShared)
  const planIds = isShared ? undefined : changes.map(({ planId }) => planId)
  const rows = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  if (rows.length === 0) return []
  const pending = await readPending(db, rows, { plans: isShared ? 'contested' : 'none', first: changes })
  const [without, after] = [foresee(pending), foresee(pending, changes)]
  return pending.rows.flatMap((row) => {
    const next = after.byId.get(row.id)
    const isKnown = without.byId.get(row.id)?.misfit !== undefined
    // The log shows a publication that conflicts already.
    if (next === undefined || (next.misfit !== undefined && isKnown)) return []
    if (next.misfit !== undefined) return describeConflict(row, next.misfit, changes)
    return describeEffect(row, { changes, others: pending.changesById.get(row.id) ?? [], merged: next.changes })
  })
}

/** Whether it changes an identifier, or an object that plans share: all plans must agree on them. */
function changesShared({ before, after }: PlanChange): boolean {
  return (
    after !== null &&
    [...comparePlans(before, after).keys()].some((path) => path === 'identifier' || partOf(path) !== path)
  )
}

function describeConflict(
  { id, actor, planCount }: PublicationRow,
  misfit: Misfit,
  changes: readonly PlanChange[],
): string[] {
  const names =
    misfit.kind === 'changed_fields'
      ? `also changes ${nameConflicts(misfit.conflicts)}`
      : `contradicts this change: ${nameContradictions('contradictions' in misfit ? misfit.contradictions : [])}`
  const counts = `plans: ${planCount} in publication ${id}, ${changes.length} here`
  return [
    `The pending publication ${id} by ${actor} ${names}. Whichever is published second will fail, and none of its plans will change (${counts}).`,
  ]
}

interface Effect {
  changes: readonly PlanChange[]
  /** What the pending publication changes. */
  others: readonly PlanChange[]
  /** What it will change after this change. */
  merged: readonly PlanChange[]
}

/** Says which values a pending publication will give to the fields of this change, also the same values. */
function describeEffect({ id, actor, dueAt }: PublicationRow, { changes, others, merged }: Effect): string[] {
  const ownById = new Map(changes.map((own) => [own.planId, own]))
  const mergedById = new Map(merged.map(({ planId, after }) => [planId, after]))
  const effects = others.flatMap((other) => {
    const own = ownById.get(other.planId)
    if (own === undefined) return []
    const name = (other.after ?? other.before)?.identifier
    if (!other.before || !other.after) return `${other.before ? 'remove' : 'add'} ${name}`
    const after = mergedById.get(other.planId) ?? {}
    const [ours, theirs] = [listFields(own), listFields(other)]
    return [...theirs]
      .filter((field) => ours.has(field) && !mergeRules[field]?.compute)
      .map((field) => `set ${field} of ${name} to ${abbreviate(Reflect.get(after, field))}`)
  })
  return effects.length === 0 ? [] : [`Publication ${id} by ${actor} will ${nameSome(effects)}, ${describeDue(dueAt)}.`]
}

function listFields({ before, after }: PlanChange): Set<string> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.replace(/\..*/, '')))
}
