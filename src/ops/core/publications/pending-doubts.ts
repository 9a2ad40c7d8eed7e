// Doubts about a change because of pending publications: one that would conflict with it, or that will change the same fields later.
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
 * Finds the pending publications that a change would conflict with, or that will replace its values.
 * @param ownId the ID of the publication with this change, if it is pending, or of the publication that the change makes again.
 * @returns a sentence for each.
 */
export async function findPendingDoubts(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  ownId: number | undefined,
): Promise<string[]> {
  // Without a new claim, the change meets only publications of the same plans. Other publications may have thousands of plans to read.
  const hasNewClaim = changes.some(({ before, after }) => listNewClaims(before, after).length > 0)
  const planIds = hasNewClaim ? undefined : changes.map(({ planId }) => planId)
  const rows = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  const pending = await readPending(db, rows, { plans: 'contested', first: changes })
  const [without, after] = [foresee(pending), foresee(pending, changes)]
  return pending.rows.flatMap((row) => {
    const next = after.byId.get(row.id)
    if (next === undefined) return []
    if (next.misfit === undefined) {
      return describeEffect(row, { changes, others: pending.changesById.get(row.id) ?? [], merged: next.changes })
    }
    // A conflict that the publication has without this change is in the log already.
    const conflictsAlready = without.byId.get(row.id)?.misfit !== undefined
    return conflictsAlready ? [] : describeConflict(row, next.misfit, changes)
  })
}

/** Says that a pending publication and a change can't both be published. @param misfit why. */
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
  /** The change that an operator is about to make. */
  changes: readonly PlanChange[]
  /** What the pending publication changes. */
  others: readonly PlanChange[]
  /** What the pending publication will change, once `changes` are published. */
  merged: readonly PlanChange[]
}

/**
 * Says which values a pending publication will later give to the fields of `changes`, even if they are the same values.
 * @returns a sentence, or none.
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
    return [...listFields(other)]
      .filter((field) => ownFields.has(field) && !mergeRules[field]?.compute)
      .map((field) => `set ${field} of ${name} to ${abbreviate(Reflect.get(after, field))}`)
  })
  return effects.length === 0
    ? []
    : [`Publication ${row.id} by ${row.actor} will ${nameSome(effects)}, ${describeDue(row)}.`]
}

/** Lists the fields that a change of a plan sets. For a member such as `category.name`, lists `category`. */
function listFields({ before, after }: PlanChange): Set<string> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.replace(/\..*/, '')))
}
