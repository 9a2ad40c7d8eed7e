// Compares a catalog file, or a file with some fields of some plans, with the catalog. Changes nothing.
import { findIdentityMismatches, type CatalogFile } from '../file-formats/catalog-file.ts'
import { makeDefectError } from '../file-formats/defect.ts'
import { applyPatches, type CatalogUpdate } from '../differences/plan-patch.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalog, selectCatalogAt, selectRevisionUpTo, type CatalogOrigin } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { Store } from '../../store/store.ts'
import { formatConflict, mergeCatalog, type MergedChange } from '../differences/catalog-merge.ts'
import { describeForgottenReturns, describeForgottenMonths } from '../plan-rules/forgotten-figures.ts'
import { findLaterChanges } from '../publications/later-changes.ts'
import type { PreparedChange } from '../publications/proposal.ts'
import { describeTakenBack } from '../differences/taken-back.ts'
import { UserError } from '../../shared/user-error.ts'

export interface CatalogImport extends PreparedChange {
  notes: string[]
  warnings: string[]
  /** The number of plans in the file that are equal in the catalog. */
  unchanged: number
  /** True if the file was merged, so that later changes by others stay. */
  isMerged: boolean
  sheet: CatalogFile['sheet']
}

export interface ImportChoice {
  /** True if the import removes plans that are not in the file. */
  isPruning?: boolean
  /** True to treat the file like a file without a revision: it overwrites later changes by others. */
  isOverwriting?: boolean
}

/** A refusal prints so many conflicts, and counts the others. */
const maxConflicts = 10

/**
 * Compares a file with the catalog. A file with a revision is merged: it changes only the fields that differ from the catalog at that
 * revision, and later changes by others stay. Each plan of a file without a revision replaces the plan of the catalog.
 * @throws UserError for a file of another catalog or an unknown revision, a field that somebody else changed, or a plan that would change its ID or take another's.
 */
export function prepareImport(store: Store, file: CatalogFile, choice: ImportChoice = {}): Promise<CatalogImport> {
  return prepareMerge(store, file, choice, (base) => ({ base, plans: file.plans }))
}

/** Prepares a file with some fields of some plans: all other fields and plans stay. Merges, and throws, as `prepareImport` does; also throws a UserError with the defects of the file. */
export async function prepareUpdate(
  store: Store,
  file: CatalogUpdate,
  choice: ImportChoice = {},
): Promise<CatalogImport> {
  const catalogImport = await prepareMerge(store, file, choice, (base, current) => {
    const baseIds = new Set(base?.map(({ id }) => id))
    const baseIdentifiers = new Set(base?.map(({ identifier }) => identifier))
    // The file can also update plans that were added after its export, unless an exported plan had their ID or identifier.
    const addedPlans = current.filter(({ id, identifier }) => !baseIds.has(id) && !baseIdentifiers.has(identifier))
    // Without a base, the file overwrites later changes.
    const updatablePlans = base ? [...base, ...addedPlans] : current
    const { plans, defects } = applyPatches(file, updatablePlans)
    if (defects.length > 0) throw makeDefectError(defects)
    return { base: base && updatablePlans, plans }
  })
  const forgottenNotes = describeForgottenReturns(catalogImport.changes, file.patches)
  return { ...catalogImport, notes: [...catalogImport.notes, ...forgottenNotes] }
}

type Plans = readonly CatalogPlan[]

/**
 * Merges a file with the catalog. @throws UserError when the file can't be merged, and what `readPlans` throws.
 * @param readPlans gets the catalog at the file's revision (undefined for a file that overwrites later changes) and the current catalog.
 * Returns the plans of the file, and as `base` the plans from which the file was made: undefined to overwrite later changes.
 */
async function prepareMerge(
  { db }: Store,
  { origin, sheet, notes = [] }: Omit<CatalogFile, 'plans'>,
  { isPruning = false, isOverwriting = false }: ImportChoice,
  readPlans: (base: Plans | undefined, current: Plans) => { base: Plans | undefined; plans: Plans },
): Promise<CatalogImport> {
  const { origin: currentOrigin, plans: storedPlans } = await selectCatalog(db)
  const exportedPlans = origin && !isOverwriting ? await selectExportedCatalog(db, origin, currentOrigin) : undefined
  // The plans of a file have every field of the schema. For the merge, older plans of the catalog get the fields that were added later.
  const current = storedPlans.map((plan) => fillOlderPlan(plan))
  const { base, plans } = readPlans(
    exportedPlans?.map((plan) => fillOlderPlan(plan)),
    current,
  )
  const storedById = new Map(storedPlans.map((plan) => [plan.id, plan]))
  // Keeps fields that the stored plan has and this version of the code doesn't know.
  const file = plans.map((plan) => Object.assign({}, storedById.get(plan.id), plan))
  const mergedChanges = mergeCatalog({ base, file, current, isPruning })
  await refuseConflicts(db, mergedChanges, origin?.revision)
  const mergedPlans = mergedChanges.flatMap(({ after }) => after ?? [])
  const mismatches = findIdentityMismatches(mergedPlans, storedPlans)
  if (mismatches.length > 0) throw makeDefectError(mismatches)

  // Compares with the stored plans, so that the import of an export adds a new field to older plans.
  const changes = mergedChanges
    .map(({ planId, after }) => ({ planId, before: storedById.get(planId) ?? null, after }))
    .filter(({ before, after }) => !isSameJson(before, after))
    .toSorted((a, b) => a.planId - b.planId)
  const changedIds = new Set(changes.map(({ planId }) => planId))
  const others = storedPlans.filter(({ id }) => !changedIds.has(id))
  const currentById = new Map(current.map((plan) => [plan.id, plan]))
  const hasOnlyOldValues =
    changes.length === 0 && file.some((plan) => !isSameJson(plan, currentById.get(plan.id) ?? null))
  const takenBackWarnings = exportedPlans ? [] : await describeTakenBack(db, changes)
  return {
    baseRevision: currentOrigin.revision,
    changes,
    unchanged: mergedChanges.length - changes.length,
    isMerged: base !== undefined,
    sheet,
    warnings: takenBackWarnings.map(
      (warning) => `${warning} To keep these values, export the catalog now, and edit the new file.`,
    ),
    notes: [
      ...notes,
      ...describeForgottenMonths(changes, others),
      ...(hasOnlyOldValues
        ? [
            'The file differs from the catalog only in values that others changed after the export. To bring the file’s values back, add --overwrite.',
          ]
        : []),
    ],
  }
}

/** @throws UserError when a plan has a conflict. @param exportRevision the revision of the file. */
async function refuseConflicts(db: OperatorDatabase, mergedChanges: readonly MergedChange[], exportRevision?: number) {
  const conflicts = mergedChanges.flatMap((change) => change.conflicts)
  if (conflicts.length === 0) return
  const planIds = mergedChanges.filter((change) => change.conflicts.length > 0).map(({ planId }) => planId)
  const laterChanges = await findLaterChanges(db, conflicts, planIds, exportRevision)
  const otherCount = conflicts.length - maxConflicts
  const hasReturnConflict = conflicts.some(({ field = '' }) => mergeRules[field]?.dateField !== undefined)
  throw new UserError([
    ...conflicts.slice(0, maxConflicts).map(formatConflict),
    ...(otherCount > 0 ? [`Conflicts like these: ${otherCount} more.`] : []),
    ...laterChanges.slice(0, maxConflicts).map(({ sentence }) => sentence),
    ...(hasReturnConflict
      ? ['A new performanceDate also conflicts with a change of a return: the return may be of another month.']
      : []),
    'To keep the changes of others, make the same changes in the file. To publish every value of the file, add --overwrite: the values then replace later changes by others.',
  ])
}

/** Selects the catalog from which a file was exported. @throws UserError for a file of another catalog, or of a revision that the record lacks. */
async function selectExportedCatalog(
  db: OperatorDatabase,
  origin: CatalogOrigin,
  current: CatalogOrigin,
): Promise<CatalogPlan[]> {
  const isRevisionRecorded = (await selectRevisionUpTo(db, origin.revision)) === origin.revision
  if (origin.catalog === current.catalog && isRevisionRecorded) return selectCatalogAt(db, origin.revision)
  const reason = 'The file was exported from another catalog, or the database was restored since.'
  const fix = 'Export the catalog again, or add --overwrite: the file then overwrites later changes by others.'
  throw new UserError([reason, fix])
}
