// Finds doubts about a change: pending publications that would conflict with the change, or that will set the same fields later.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { listNewSharedValues, nameContradictions, type Obstacle } from '../../../catalog/fit.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectPublications, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { describeDue } from '../../shared/time-arguments.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import { forecastPublications, readPending } from './forecast.ts'

/**
 * Describes, in a sentence each, the pending publications that a change would conflict with, or that will overwrite its values.
 * @param ownId leaves out this publication: it has these changes, or these changes redo it. Undefined leaves out none.
 */
export async function describePendingDoubts(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  ownId: number | undefined,
): Promise<string[]> {
  // Only a new shared value can contradict publications of other plans. Without a new shared value, skip them: they may have thousands of plans.
  const hasNewSharedValue = changes.some(({ before, after }) => listNewSharedValues(before, after).length > 0)
  const planIds = hasNewSharedValue ? undefined : changes.map(({ planId }) => planId)
  const rows = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  const pendingPublications = await readPending(db, rows, { scope: 'may-conflict', firstChange: changes })
  const withoutChange = forecastPublications(pendingPublications)
  const withChange = forecastPublications(pendingPublications, changes)
  return pendingPublications.rows.flatMap((row) => {
    const forecast = withChange.byId.get(row.id)
    if (forecast === undefined) return []
    if (forecast.obstacle === undefined) {
      return describeOverwriting(row, pendingPublications.changesById.get(row.id) ?? [], forecast.changes, changes)
    }
    // The log already shows a conflict that the publication has without this change.
    const conflictsAnyway = withoutChange.byId.get(row.id)?.obstacle !== undefined
    return conflictsAnyway ? [] : describeConflict(row, forecast.obstacle, changes)
  })
}

function describeConflict(
  { id, actor, planCount }: PublicationRow,
  obstacle: Obstacle,
  changes: readonly PlanChange[],
): string {
  const counts = `plans: ${planCount} in publication ${id}, ${changes.length} here`
  return `The pending publication ${id} by ${actor} ${describeReason(obstacle)}. Whichever is published second will fail, and none of its plans will change (${counts}).`
}

/** Says why a publication conflicts with a change, as the end of a sentence about the publication. */
function describeReason(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'changed_fields':
      return `also changes ${nameConflicts(obstacle.conflicts)}`
    case 'identifier':
      return `uses identifiers of this change for other plans: ${nameContradictions(obstacle)}`
    case 'object':
      return `contradicts this change: ${nameContradictions(obstacle)} would differ`
    case 'members':
      return 'has plans with other fields than this change'
    case 'incomplete':
    case 'restored':
      return 'can’t be published'
  }
}

/**
 * Says which values of `changes` a pending publication will overwrite.
 * @param proposedChanges the changes of the publication, as proposed. @param mergedChanges the same changes, merged with `changes`.
 */
function describeOverwriting(
  row: PublicationRow,
  proposedChanges: readonly PlanChange[],
  mergedChanges: readonly PlanChange[],
  changes: readonly PlanChange[],
): string[] {
  const changesByPlan = new Map(changes.map((change) => [change.planId, change]))
  const mergedByPlan = new Map(mergedChanges.map(({ planId, after }) => [planId, after]))
  const effects = proposedChanges.flatMap(({ planId, before, after }) => {
    const change = changesByPlan.get(planId)
    if (change === undefined) return []
    if (before === null) return `add ${after?.identifier}`
    if (after === null) return `remove ${before.identifier}`
    const changedFields = nameChangedFields(change)
    const mergedPlan = mergedByPlan.get(planId) ?? {}
    return (
      [...nameChangedFields({ planId, before, after })]
        // A computed field, such as `isInvestable`, follows from another field, which the sentence names.
        .filter((field) => changedFields.has(field) && !mergeRules[field]?.compute)
        .map((field) => `set ${field} of ${after.identifier} to ${abbreviate(Reflect.get(mergedPlan, field))}`)
    )
  })
  if (effects.length === 0) return []
  return [`Publication ${row.id} by ${row.actor} will ${nameSome(effects)}, ${describeDue(row)}.`]
}

function nameChangedFields({ before, after }: PlanChange): Set<string> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.replace(/\..*/, '')))
}
