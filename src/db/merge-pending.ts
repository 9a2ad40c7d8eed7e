// Merges a pending publication with what others changed after it was computed. For the command line and the Worker's schedule.
import { and, eq, inArray, notInArray, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { mergePlan, nameConflicts } from '../catalog/merge-plan.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import { selectValues } from './column-values.ts'
import { listOf, type Database } from './database.ts'
import { readAll } from './pages.ts'
import { newestRevision, own, selectVersionAt, type Version } from './plan-queries.ts'
import { planVersions, publications } from './schema.ts'
import { hashStoredPlans, insertVersions, stageVersions, storeChange } from './stage-publication.ts'

const base = alias(planVersions, 'base')
const current = alias(planVersions, 'current')

/** The merge of one publication refuses more plans. */
const maxMergedPlans = 200

/** The merged plans, computed from the catalog at `baseRevision`, or why there are none. */
export type PendingMerge = { baseRevision: number; versions: Version[] } | { conflict: string }

const tooMany = { conflict: `others changed more than ${maxMergedPlans} of its plans` }

/** Merges the plans that others changed. They are read in one query, with the revision that the result is based on. */
export async function mergePending(db: Database, publicationId: number): Promise<PendingMerge> {
  const rows = await selectOvertaken(db, eq(publications.id, publicationId), maxMergedPlans + 1)
  return rows.length > maxMergedPlans ? tooMany : merge(rows)
}

/**
 * Finds why publications can't be merged.
 * @param overtakenPlans how many of its plans others changed, by the ID of the publication.
 * @returns the reasons by ID: none for one that can.
 */
export async function findMergeConflicts(
  db: Database,
  overtakenPlans: ReadonlyMap<number, number>,
): Promise<Map<number, string>> {
  const ids = [...overtakenPlans.keys()]
  const isTooMany = (id: number) => (overtakenPlans.get(id) ?? 0) > maxMergedPlans
  const small = ids.filter((id) => !isTooMany(id))
  const select = () =>
    readAll(
      ([lastId, lastPlanId]: [number, number] = [-1, -1], limit) => {
        const isNext = sql`(${publications.id}, ${own.planId}) > (${lastId}, ${lastPlanId})`
        return selectOvertaken(db, and(inArray(publications.id, listOf(small)), isNext), limit)
      },
      ([id, , planId]): [number, number] => [id, planId],
    )
  const rows = small.length === 0 ? [] : await select()
  const rowsById = Map.groupBy(rows, ([id]) => id)
  return new Map(
    ids.flatMap((id): [number, string][] => {
      const result = isTooMany(id) ? tooMany : merge(rowsById.get(id) ?? [])
      return 'conflict' in result ? [[id, result.conflict]] : []
    }),
  )
}

type OvertakenRow = [
  publicationId: number,
  revision: number,
  planId: number,
  ...base: StoredPlan,
  ...own: StoredPlan,
  ...current: StoredPlan,
]

/** Selects the plans of publications that others changed since, with the newest revision of the catalog. */
function selectOvertaken(db: Database, isWanted: SQL | undefined, limit: number): Promise<OvertakenRow[]> {
  return db.values<OvertakenRow>(sql`
    select ${publications.id}, ${newestRevision}, ${own.planId}, ${base.document}, ${base.viewableIn},
      ${own.document}, ${own.viewableIn}, ${current.document}, ${current.viewableIn}
    from ${publications} join ${planVersions} as ${own} on ${own.publicationId} = ${publications.id}
    join ${planVersions} as ${current} on ${current}.rowid = ${selectVersionAt(sql`9e15`)}
    left join ${planVersions} as ${base} on ${base}.rowid = ${selectVersionAt(publications.baseRevision)}
    where ${isWanted} and ${current}.rowid is not ${base}.rowid
    order by ${publications.id}, ${own.planId} limit ${limit}`)
}

function merge(rows: readonly OvertakenRow[]): PendingMerge {
  const merges = rows.map(([, , planId, ...[baseText, baseIn, ownText, ownIn, text, viewableIn]]) => {
    const [before, proposed] = [readPlan(baseText, baseIn), readPlan(ownText, ownIn)]
    const { plan: after, conflicts } = mergePlan(before, proposed, readPlan(text, viewableIn))
    return { planId, after, conflicts }
  })
  const conflicts = merges.flatMap((one) => one.conflicts)
  if (conflicts.length > 0) return { conflict: `others changed ${nameConflicts(conflicts)}` }
  return { baseRevision: rows[0]?.[1] ?? 0, versions: merges.map(storeChange) }
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
  const values = selectValues(publications, {
    state: 'staging',
    actor: publications.actor,
    command: publications.command,
    note: publications.note,
    createdAt: sql`unixepoch()`,
    baseRevision,
    planCount: publications.planCount,
    plansHash: hashes.get(replacedId) ?? null,
    undoneId: publications.undoneId,
    replacesId: publications.id,
    dueAt: publications.dueAt,
    needsApproval: publications.needsApproval,
    approvedBy: publications.approvedBy,
    approvedAt: publications.approvedAt,
    approvedNote: publications.approvedNote,
  })
  const [row] = await db.values<[number]>(sql`
    insert into ${publications} ${values}
    from ${publications} where ${publications.id} = ${replacedId}
    returning ${publications.id}`)
  if (row === undefined) throw new Error('D1 returned no row')
  const [newId] = row
  const { publicationId, planId, document, viewableIn } = planVersions
  const isUnchanged = and(eq(publicationId, replacedId), notInArray(planId, listOf([...mergedById.keys()])))
  const unchanged = sql`from ${planVersions} where ${isUnchanged}`
  await db.run(insertVersions(newId, { planId, document, viewableIn }, unchanged))
  await stageVersions(db, newId, versions)
  return newId
}
