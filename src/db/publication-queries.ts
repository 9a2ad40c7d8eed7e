// Reads the publications of the catalog, for the command line.
import { and, between, desc, eq, gt, inArray, lt, ne, or, sql, type SQL } from 'drizzle-orm'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { writeList } from './database.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { readAll } from './pages.ts'
import { ownVersion } from './plan-queries.ts'
import { readComparedPlans } from './rebase.ts'
import { openStates, planVersions, publications } from './schema.ts'

/** A publication, without its plans. migrations/*.sql explains the columns. Times are Unix seconds. */
export type PublicationRow = typeof publications.$inferSelect

/** A plan before and after a publication. Null: the plan did not exist before, or is removed. */
export interface PlanChange {
  planId: number
  before: CatalogPlan | null
  after: CatalogPlan | null
}

/** @returns undefined for a publication that does not exist, or is still staged. */
export async function selectPublication(db: OperatorDatabase, id: number): Promise<PublicationRow | undefined> {
  const [row] = await selectPublicationsWhere(db, eq(publications.id, id))
  return row
}

export interface PublicationFilter {
  /** Publications that add, change or remove one of these plans. */
  planIds?: readonly number[] | undefined
  /** Publications that were made, approved or decided from `since` to `until`, in Unix seconds. */
  since?: number | undefined
  until?: number | undefined
  /** Publications that were published after this revision of the catalog. */
  afterRevision?: number | undefined
  states?: readonly PublicationRow['state'][] | undefined
  /** Also selects pending and conflicted publications outside `since` and `until`. */
  isOpenIncluded?: boolean
}

/** Selects the publications that fulfil all conditions of the filter, the highest number first. */
export function selectPublications(
  db: OperatorDatabase,
  { planIds, since = 0, until = Number.MAX_SAFE_INTEGER, afterRevision, states, isOpenIncluded }: PublicationFilter,
): Promise<PublicationRow[]> {
  const { id, state, createdAt, approvedAt, decidedAt, revision } = publications
  const { publicationId, planId } = planVersions
  const conditions = [
    planIds && sql`${id} in (select ${publicationId} from ${planVersions} where ${planId} in ${writeList(planIds)})`,
    or(
      ...[createdAt, approvedAt, decidedAt].map((time) => between(time, since, until)),
      isOpenIncluded ? inArray(state, openStates) : undefined,
    ),
    afterRevision === undefined ? undefined : gt(revision, afterRevision),
    states && inArray(state, states),
  ]
  return selectPublicationsWhere(db, and(...conditions))
}

/** Selects the last published first: a scheduled publication may be published after publications with higher numbers. */
export async function selectPublished(db: OperatorDatabase, filter: PublicationFilter): Promise<PublicationRow[]> {
  const rows = await selectPublications(db, { ...filter, states: ['published'] })
  return rows.toSorted((a, b) => Number(b.revision) - Number(a.revision))
}

/** Selects the publications that fulfil a condition, the highest number first. Leaves out staged publications. */
function selectPublicationsWhere(db: OperatorDatabase, condition: SQL | undefined): Promise<PublicationRow[]> {
  const { id, state } = publications
  return readAll(
    (lastId: number | undefined, limit) =>
      db
        .select()
        .from(publications)
        .where(and(ne(state, 'staging'), lt(id, lastId ?? Number.MAX_SAFE_INTEGER), condition))
        .orderBy(desc(id))
        .limit(limit),
    (row) => row.id,
  )
}

/** Selects the changes of one publication, as `selectChangesByPublication`. */
export async function selectChanges(db: OperatorDatabase, id: number, planIds?: readonly number[]) {
  return (await selectChangesByPublication(db, [id], planIds)).get(id) ?? []
}

/** @param planIds selects only changes of these plans. Default: all. @returns the changes by publication ID, in ascending order of plan ID; an empty list for an ID without such changes. */
export async function selectChangesByPublication(
  db: OperatorDatabase,
  ids: readonly number[],
  planIds?: readonly number[],
): Promise<Map<number, PlanChange[]>> {
  if (ids.length === 0) return new Map()
  const isOfPlans = planIds && inArray(ownVersion.planId, writeList(planIds))
  const isWanted = and(inArray(publications.id, writeList(ids)), isOfPlans)
  const changesByPublication = new Map(ids.map((id): [number, PlanChange[]] => [id, []]))
  for await (const page of readComparedPlans(db, isWanted)) {
    for (const { publicationId, planId, base, own: after } of page) {
      changesByPublication.get(publicationId)?.push({ planId, before: base, after })
    }
  }
  return changesByPublication
}
