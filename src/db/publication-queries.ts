// SQL that reads the publications of the catalog, for the command line.
import { and, desc, eq, gt, gte, inArray, lt, ne, or, sql, type SQL } from 'drizzle-orm'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import type { Database } from './database.ts'
import { readAll } from './pages.ts'
import { selectVersionAt } from './plan-queries.ts'
import { publications } from './schema.ts'
import { listOf } from './sql-values.ts'
import type { Version } from './stage-publication.ts'

/** `revision` is null until it is published. */
export type PublicationRow = typeof publications.$inferSelect

/** A plan before and after a publication; null where it does not exist. */
export interface PlanChange {
  planId: number
  before: CatalogPlan | null
  after: CatalogPlan | null
}

export const pendingStates = ['waiting', 'scheduled'] as const

export async function selectPublication(db: Database, id: number): Promise<PublicationRow | undefined> {
  const [row] = await selectWhere(db, eq(publications.id, id))
  return row
}

export interface PublicationFilter {
  /** Publications that touch one of these plans. */
  planIds?: readonly number[] | undefined
  /** Unix seconds. */
  since?: number | undefined
  /** Published after this revision of the catalog. */
  afterRevision?: number | undefined
  states?: readonly PublicationRow['state'][] | undefined
}

/** Selects the latest first. */
export function selectPublications(
  db: Database,
  { planIds, since, afterRevision, states }: PublicationFilter,
): Promise<PublicationRow[]> {
  const { id, createdAt, approvedAt, decidedAt, revision, state } = publications
  const isTouching =
    planIds && sql`${id} in (select publication_id from plan_versions where plan_id in ${listOf(planIds)})`
  const isRecent =
    since === undefined ? undefined : or(gte(createdAt, since), gte(approvedAt, since), gte(decidedAt, since))
  const isLater = afterRevision === undefined ? undefined : gt(revision, afterRevision)
  return selectWhere(db, and(isTouching, isRecent, isLater, states && inArray(state, states)))
}

/** Staged publications are hidden. */
function selectWhere(db: Database, condition: SQL | undefined): Promise<PublicationRow[]> {
  return readAll<PublicationRow>((last, limit) =>
    db
      .select()
      .from(publications)
      .where(and(ne(publications.state, 'staging'), condition, last && lt(publications.id, last.id)))
      .orderBy(desc(publications.id))
      .limit(limit),
  )
}

/** Selects what a publication changes, in ascending order of the plans. @param planIds only these plans. */
export async function selectChanges(db: Database, id: number, planIds?: readonly number[]): Promise<PlanChange[]> {
  const isWanted = planIds === undefined ? sql`true` : sql`own.plan_id in ${listOf(planIds)}`
  const rows = await readAll<[...Version, ...before: StoredPlan]>((last, limit) =>
    db.values(sql`
      select own.plan_id, own.document, own.viewable_in, base.document, base.viewable_in
      from publications join plan_versions as own on own.publication_id = publications.id
      left join plan_versions as base on base.rowid = ${selectVersionAt(sql`publications.base_revision`)}
      where publications.id = ${id} and own.plan_id > ${last?.[0] ?? -1} and ${isWanted}
      order by own.plan_id limit ${limit}`),
  )
  return rows.map(([planId, document, viewableIn, ...before]) => ({
    planId,
    before: readPlan(...before),
    after: readPlan(document, viewableIn),
  }))
}
