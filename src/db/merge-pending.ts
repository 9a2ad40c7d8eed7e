// Merges a pending publication with what others changed after it was computed. For the command line and the Worker's schedule.
import { sql } from 'drizzle-orm'
import { mergePlan, nameConflicts } from '../catalog/merge-plan.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import { listOf, orNull, type Database } from './database.ts'
import { newestRevision, selectVersionAt, type Version } from './plan-queries.ts'
import { hashStoredPlans, insertVersions, stageVersions, storeChange } from './stage-publication.ts'

/** As many plans are merged for one publication. */
const maxMergedPlans = 200

/** The merged plans, computed from the catalog at `baseRevision`, or why there are none. */
export type PendingMerge = { baseRevision: number; versions: Version[] } | { conflict: string }

/** Merges the plans that others changed. They are read in one query, with the revision that the result is based on. */
export async function mergePending(db: Database, publicationId: number): Promise<PendingMerge> {
  type Row = [revision: number, planId: number, ...base: StoredPlan, ...own: StoredPlan, ...current: StoredPlan]
  const rows = await db.values<Row>(sql`
    select ${newestRevision}, own.plan_id, base.document, base.viewable_in, own.document, own.viewable_in,
      current.document, current.viewable_in
    from publications join plan_versions as own on own.publication_id = publications.id
    join plan_versions as current on current.rowid = ${selectVersionAt(sql`9e15`)}
    left join plan_versions as base on base.rowid = ${selectVersionAt(sql`publications.base_revision`)}
    where publications.id = ${publicationId} and current.rowid is not base.rowid
    order by own.plan_id limit ${maxMergedPlans + 1}`)
  if (rows.length > maxMergedPlans) return { conflict: `others changed more than ${maxMergedPlans} of its plans` }
  const merges = rows.map(([, planId, ...[baseText, baseIn, ownText, ownIn, text, viewableIn]]) => {
    const current = readPlan(text, viewableIn)
    const { plan: after, conflicts } = mergePlan(readPlan(baseText, baseIn), readPlan(ownText, ownIn), current)
    return { planId, after, conflicts }
  })
  const conflicts = merges.flatMap((merge) => merge.conflicts)
  if (conflicts.length > 0) return { conflict: `others changed ${nameConflicts(conflicts)}` }
  return { baseRevision: rows[0]?.[0] ?? 0, versions: merges.map(storeChange) }
}

/**
 * Stages a pending publication again, with some of its plans merged with what others changed meanwhile. Publishing the new row
 * ends the old one (publish.ts).
 * @returns the ID of the new row.
 */
export async function stageReplacement(
  db: Database,
  replacedId: number,
  { baseRevision, versions }: Exclude<PendingMerge, { conflict: string }>,
): Promise<number> {
  const mergedById = new Map(versions.map((version) => [version[0], version]))
  const hashes = await hashStoredPlans(db, replacedId, (version) => mergedById.get(version[0]) ?? version)
  const [row] = await db.values<[number]>(sql`
    insert into publications (state, actor, command, note, created_at, base_revision, plan_count, plans_hash, undone_id,
      replaces_id, due_at, needs_approval, approved_by, approved_at, approved_note)
    select 'staging', actor, command, note, unixepoch(), ${baseRevision}, plan_count, ${orNull(hashes.get(replacedId) ?? null)},
      undone_id, id, due_at, needs_approval, approved_by, approved_at, approved_note
    from publications where id = ${replacedId}
    returning id`)
  if (row === undefined) throw new Error('D1 returned no row')
  const [id] = row
  await db.run(
    insertVersions(
      id,
      sql`select ${id}, plan_id, document, viewable_in from plan_versions
        where publication_id = ${replacedId} and plan_id not in ${listOf([...mergedById.keys()])}`,
    ),
  )
  await stageVersions(db, id, versions)
  return id
}
