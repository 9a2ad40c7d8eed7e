// Merges a pending publication with what others changed after it was computed. For the command line and the Worker's schedule.
import { sql } from 'drizzle-orm'
import { mergePlan, nameConflicts, type PlainPlan } from '../catalog/merge-plan.ts'
import type { Queries } from './database.ts'
import { newestRevision } from './plan-queries.ts'
import { integer, listOf, text } from './sql-values.ts'
import {
  canStage,
  hashStoredPlans,
  isStaged,
  selectVersionAt,
  stageVersions,
  type Version,
} from './stage-publication.ts'

/** As many plans are merged for one publication. */
const maxMergedPlans = 200

/** The merged plans, computed from the catalog at `baseRevision`, or why there are none. */
export type PendingMerge = { baseRevision: number; versions: Version[] } | { conflict: string }

export async function mergePending(db: Queries, publicationId: number): Promise<PendingMerge> {
  // First: when somebody publishes between the two queries, the replacement is refused.
  const [revision] = await db.values<[number]>(sql`select ${newestRevision}`)
  const overtaken = await selectOvertakenPlans(db, publicationId, maxMergedPlans + 1)
  if (overtaken.length > maxMergedPlans) return { conflict: `others changed more than ${maxMergedPlans} of its plans` }
  const merges = overtaken.map(({ base, own, current }) =>
    mergePlan(parseVersion(base), parseVersion(own), parseVersion(current)),
  )
  const conflicts = merges.flatMap((merge) => merge.conflicts)
  if (conflicts.length > 0) return { conflict: `others changed ${nameConflicts(conflicts)}` }
  const versions = overtaken.map(({ own: [planId] }, index) => formatVersion(planId, merges[index]?.plan ?? null))
  return { baseRevision: revision?.[0] ?? 0, versions }
}

function parseVersion([, document, viewableIn]: Version): PlainPlan | null {
  if (document === null || viewableIn === null) return null
  return { ...JSON.parse(document), viewableIn: JSON.parse(viewableIn) }
}

function formatVersion(planId: number, merged: PlainPlan | null): Version {
  if (merged === null) return [planId, null, null]
  const { viewableIn, ...plan } = merged
  return [planId, JSON.stringify(plan), JSON.stringify(viewableIn)]
}

/**
 * Stages a pending publication again, with some of its plans merged with what others changed meanwhile. Publishing the new row
 * ends the old one (publish.ts).
 * @param baseRevision the revision of the catalog that the merged plans contain.
 * @returns the ID of the new row; undefined when there is no such publication.
 */
export async function stageReplacement(
  db: Queries,
  replacedId: number,
  baseRevision: number,
  merged: readonly Version[],
): Promise<number | undefined> {
  const mergedById = new Map(merged.map((version) => [version[0], version]))
  const plansHash = await hashStoredPlans(db, replacedId, (version) => mergedById.get(version[0]) ?? version)
  const [row] = await db.values<[number]>(sql`
    insert into publications (state, actor, command, note, created_at, base_revision, plan_count, plans_hash, undone_id,
      replaces_id, due_at, needs_approval, approved_by, approved_at, approved_note)
    select 'staging', actor, command, note, unixepoch(), ${integer(baseRevision)}, plan_count, ${text(plansHash)}, undone_id,
      id, due_at, needs_approval, approved_by, approved_at, approved_note
    from publications where id = ${integer(replacedId)}
    returning id`)
  if (row === undefined) return undefined
  const [id] = row
  await db.run(sql`
    insert into plan_versions (publication_id, plan_id, document, viewable_in)
    select ${integer(id)}, plan_id, document, viewable_in from plan_versions as replaced
    where publication_id = ${integer(replacedId)} and plan_id not in ${listOf([...mergedById.keys()])}
      and ${canStage(id)} and not ${isStaged(id, sql`replaced.plan_id`)}`)
  await stageVersions(db, id, merged, () => {})
  return id
}

/** A plan of a pending publication that others changed meanwhile: before both, as it would become, and as it is now. */
export interface OvertakenPlan {
  base: Version
  own: Version
  current: Version
}

/** Selects the plans that others changed after a publication was computed, at most `limit`. */
export async function selectOvertakenPlans(
  db: Queries,
  publicationId: number,
  limit: number,
): Promise<OvertakenPlan[]> {
  type Texts = [document: string | null, viewableIn: string | null]
  const rows = await db.values<[planId: number, ...Texts, ...Texts, ...Texts]>(sql`
    select own.plan_id, base.document, base.viewable_in, own.document, own.viewable_in, current.document, current.viewable_in
    from publications join plan_versions as own on own.publication_id = publications.id
    join plan_versions as current on current.rowid = ${selectVersionAt(sql`9e15`)}
    left join plan_versions as base on base.rowid = ${selectVersionAt(sql`publications.base_revision`)}
    where publications.id = ${integer(publicationId)} and current.rowid is not base.rowid
    order by 1 limit ${limit}`)
  return rows.map(([id, ...texts]) => ({
    base: [id, texts[0], texts[1]],
    own: [id, texts[2], texts[3]],
    current: [id, texts[4], texts[5]],
  }))
}
