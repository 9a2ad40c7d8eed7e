// Publishes plans without the command line.
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import type { OperatorDatabase } from '../../src/db/operator-database.ts'
import { makePending } from '../../src/db/publication-states.ts'
import {
  compareStaged,
  flagSupersededVersions,
  publishIfNewest,
  publishPending,
  type Decision,
  type PublishMode,
  type Refusal,
} from '../../src/db/publish.ts'
import { stagePublication, type NewPublication, type PlanAfter } from '../../src/db/stage-publication.ts'

/** Adds plans. A plan with the ID of a stored plan replaces it. */
export async function publishPlans(db: OperatorDatabase, plans: readonly CatalogPlan[]): Promise<void> {
  const id = await stageChanges(
    db,
    plans.map((after) => ({ planId: after.id, after })),
  )
  const { kind } = await publishNow(db, id)
  if (kind !== 'published') throw new Error(kind)
  await flagSupersededVersions(db)
}

/** Dates the published publications: the first one at 1000 seconds, and each next one 10 seconds later. */
export async function spreadTimes(d1: D1Database): Promise<void> {
  const rows = await d1
    .prepare('select revision from publications where revision is not null order by 1')
    .raw<[number]>()
  const columns = ['publications set base_revision', 'publications set revision', 'plan_versions set base_revision']
  const statements = rows.flatMap(([revision], index) =>
    columns.map((column) =>
      d1
        .prepare(`update ${column} = ? where ${column.split(' ').at(-1)} = ?`)
        .bind((1000 + 10 * index) * 1000, revision),
    ),
  )
  if (statements.length > 0) await d1.batch(statements)
}

/** Stages a publication of changes, without publishing it. @returns its ID. */
export async function stageChanges(
  db: OperatorDatabase,
  changes: readonly PlanAfter[],
  overrides: Partial<NewPublication> = {},
): Promise<number> {
  const { revision: baseRevision } = await selectCatalogOrigin(db)
  const publication = { actor: 'test', command: 'test', note: null, baseRevision, needsApproval: false, dueAt: null }
  return stagePublication(db, { ...publication, undoneId: null, redoneId: null, warnings: [], ...overrides }, changes)
}

/** Compares a publication with the catalog, and publishes it. @returns its revision as `result`. */
export async function publishAs(
  db: OperatorDatabase,
  decision: Decision,
  mode: PublishMode,
): Promise<{ kind: 'published'; result: number } | Refusal> {
  if (mode !== 'now') {
    const outcome = await publishPending(db, decision, mode, (comparison) =>
      publishIfNewest(db, decision, mode, comparison),
    )
    return typeof outcome === 'number' ? { kind: 'published', result: outcome } : outcome
  }
  const comparison = await compareStaged(db, decision.publicationId)
  if (comparison.kind !== 'fits') return comparison
  const result = await publishIfNewest(db, decision, mode, comparison)
  return result === undefined ? { kind: 'unavailable' } : { kind: 'published', result }
}

/** Publishes a staged publication that needs no approval. */
export function publishNow(db: OperatorDatabase, publicationId: number) {
  return publishAs(db, { publicationId, actor: 'test', note: null }, 'now')
}

/** Lets a staged publication wait for approval or for its time, as if it was compared with the catalog just now. */
export async function makeStagedPending(
  db: OperatorDatabase,
  publicationId: number,
  pendingState: 'waiting' | 'scheduled',
): Promise<boolean> {
  return makePending(db, publicationId, pendingState, (await selectCatalogOrigin(db)).revision)
}
