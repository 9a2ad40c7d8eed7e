// Publishes plans without the command line.
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import type { Database } from '../../src/db/database.ts'
import { storeChange, type PlanChange } from '../../src/db/publication-queries.ts'
import { markSuperseded, publish, type PublishOutcome } from '../../src/db/publish.ts'
import { stagePublication, type NewPublication } from '../../src/db/stage-publication.ts'

/** Adds plans. A plan with the ID of a stored plan replaces it. */
export async function publishPlans(db: Database, plans: readonly CatalogPlan[]): Promise<void> {
  const id = await stageChanges(
    db,
    plans.map((after) => ({ planId: after.id, before: null, after })),
  )
  const { kind } = await publishNow(db, id)
  if (kind !== 'published') throw new Error(kind)
  await markSuperseded(db)
}

export async function stageChanges(
  db: Database,
  changes: readonly Pick<PlanChange, 'planId' | 'after'>[],
  overrides: Partial<NewPublication> = {},
): Promise<number> {
  const { revision: baseRevision } = await selectCatalogOrigin(db)
  const publication = { actor: 'test', command: 'test', note: null, baseRevision, needsApproval: false, dueAt: null }
  return stagePublication(db, { ...publication, undoneId: null, ...overrides }, changes.map(storeChange))
}

export function publishNow(db: Database, publicationId: number): Promise<PublishOutcome> {
  return publish({ read: db, commit: db }, { publicationId, actor: 'test', note: null }, 'now')
}
