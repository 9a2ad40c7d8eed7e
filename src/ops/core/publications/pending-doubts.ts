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
import { foresee, readPending, type Foreseen } from './forecast.ts'

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
      ? `changes the same: ${nameConflicts(misfit.conflicts)}`
      : `contradicts this change: ${nameContradictions('contradictions' in misfit ? misfit.contradictions : [])}`
  const counts = `${planCount} in publication ${id}, ${changes.length} here`
  return [
    `The pending publication ${id} by ${actor} ${names}. Whichever is published second will fail, and none of its plans will change (${counts}).`,
  ]
}

interface Effect {
  changes: readonly PlanChange[]
  /** What the pending publication changes. */
  others: readonly PlanChange[]
  /** What it will change after this change. */
  merged: Foreseen['changes']
}

function describeEffect({ id, actor, dueAt }: PublicationRow, { changes, others, merged }: Effect): string[] {
  const when = describeDue(dueAt)
  const same = nameSame(changes, others)
  if (same !== '') {
    const which = `Publication ${id} by ${actor} already makes the same change of ${same}, ${when}.`
    return [`${which} Undoing or cancelling this publication does not stop publication ${id}.`]
  }
  const replaced = nameSome(listReplaced(changes, merged))
  return replaced === '' ? [] : [`Publication ${id} by ${actor} will ${replaced}, ${when}.`]
}

/** Lists what a pending publication makes of the fields that this change gives a value: `set hint of gold to "New"`. */
function listReplaced(changes: readonly PlanChange[], merged: readonly PlanChange[]): string[] {
  const ownById = new Map(changes.map((own) => [own.planId, own]))
  return merged.flatMap(({ planId, before, after }) => {
    const own = ownById.get(planId)
    if (own === undefined) return []
    if (!before || !after) return before || after ? `${before ? 'remove' : 'add'} ${(before ?? after)?.identifier}` : []
    const [ours, theirs] = [listFields(own), listFields({ before, after })]
    return Object.entries(after)
      .filter(([field]) => ours.has(field) && theirs.has(field) && !mergeRules[field]?.compute)
      .map(([field, value]) => `set ${field} of ${after.identifier} to ${abbreviate(value)}`)
  })
}

function listFields({ before, after }: Pick<PlanChange, 'before' | 'after'>): Set<string | undefined> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.split('.')[0]))
}

/** Names the plans of which a pending publication makes the same change. */
function nameSame(changes: readonly PlanChange[], others: readonly PlanChange[]): string {
  const othersById = new Map(others.map((other) => [other.planId, other]))
  const same = changes.filter((own) => {
    const other = othersById.get(own.planId)
    return other !== undefined && isMadeBy(own, other)
  })
  return nameSome(same.map(({ before, after }) => (after ?? before)?.identifier ?? ''))
}

/** Whether another change of the plan includes this one. */
function isMadeBy(own: PlanChange, other: PlanChange): boolean {
  const made = comparePlans(other.before, other.after)
  return [...comparePlans(own.before, own.after)].every(([path, { to }]) => made.has(path) && made.get(path)?.to === to)
}
