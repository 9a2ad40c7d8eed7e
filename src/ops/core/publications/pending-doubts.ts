// Finds doubts about a change: pending publications that would conflict with the change, or that will set the same fields later.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { listNewClaims, nameContradictions, type Misfit } from '../../../catalog/fit.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectPublications, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { describeDue } from '../../shared/time-arguments.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import { foresee, readPending } from './forecast.ts'

/**
 * Finds the pending publications that a change would conflict with, or that will overwrite its values.
 * @param changes the plans of the change, before they are published.
 * @param ownId the ID of a pending publication to leave out: it contains this change, or this change makes it again.
 * @returns a sentence for each publication.
 */
export async function findPendingDoubts(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  ownId: number | undefined,
): Promise<string[]> {
  // Only a new claim can contradict publications of other plans. Without one, don't read those: they may have thousands of plans.
  const hasNewClaim = changes.some(({ before, after }) => listNewClaims(before, after).length > 0)
  const planIds = hasNewClaim ? undefined : changes.map(({ planId }) => planId)
  const rows = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  const pending = await readPending(db, rows, { plans: 'contested', firstChange: changes })
  const withoutChange = foresee(pending)
  const withChange = foresee(pending, changes)
  return pending.rows.flatMap((row) => {
    const foreseen = withChange.byId.get(row.id)
    if (foreseen === undefined) return []
    if (foreseen.misfit === undefined) {
      return describeEffect(row, { changes, others: pending.changesById.get(row.id) ?? [], merged: foreseen.changes })
    }
    // The log already shows a conflict that the publication has without this change.
    const conflictsAnyway = withoutChange.byId.get(row.id)?.misfit !== undefined
    return conflictsAnyway ? [] : describeConflict(row, foreseen.misfit, changes)
  })
}

/** Says that a pending publication and a change can't both be published. @param misfit the reason. */
function describeConflict(
  { id, actor, planCount }: PublicationRow,
  misfit: Misfit,
  changes: readonly PlanChange[],
): string {
  const reason =
    misfit.kind === 'changed_fields'
      ? `also changes ${nameConflicts(misfit.conflicts)}`
      : `contradicts this change: ${nameContradictions('contradictions' in misfit ? misfit.contradictions : [])}`
  const counts = `plans: ${planCount} in publication ${id}, ${changes.length} here`
  return `The pending publication ${id} by ${actor} ${reason}. Whichever is published second will fail, and none of its plans will change (${counts}).`
}

interface Effect {
  /** The plans of the change that an operator is about to publish. */
  changes: readonly PlanChange[]
  /** The plans of the pending publication, as its author proposed them. */
  others: readonly PlanChange[]
  /** The plans of the pending publication, merged with `changes`. */
  merged: readonly PlanChange[]
}

/**
 * Says to which values a pending publication will later set the fields of `changes`.
 * @returns a sentence; an empty list when the publication sets none of these fields.
 */
function describeEffect(row: PublicationRow, { changes, others, merged }: Effect): string[] {
  const ownById = new Map(changes.map((own) => [own.planId, own]))
  const mergedById = new Map(merged.map(({ planId, after }) => [planId, after]))
  const effects = others.flatMap((other) => {
    const own = ownById.get(other.planId)
    if (own === undefined) return []
    const name = (other.after ?? other.before)?.identifier
    if (!other.before || !other.after) return `${other.before ? 'remove' : 'add'} ${name}`
    const after = mergedById.get(other.planId) ?? {}
    const ownFields = listFields(own)
    // A computed field only follows another field, which is named.
    const fields = [...listFields(other)].filter((field) => ownFields.has(field) && !mergeRules[field]?.compute)
    return fields.map((field) => `set ${field} of ${name} to ${abbreviate(Reflect.get(after, field))}`)
  })
  if (effects.length === 0) return []
  return [`Publication ${row.id} by ${row.actor} will ${nameSome(effects)}, ${describeDue(row)}.`]
}

/** Lists the fields that a change of a plan sets, such as `category` for a new `category.name`. */
function listFields({ before, after }: PlanChange): Set<string> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.replace(/\..*/, '')))
}
