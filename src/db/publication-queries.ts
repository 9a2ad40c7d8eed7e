// SQL that reads the publications of the catalog, for the command line.
import { and, sql, type SQL } from 'drizzle-orm'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { listOf, selectObjects, type Database } from './database.ts'
import { readAll } from './pages.ts'
import { selectVersionAt, type Version } from './plan-queries.ts'

/** migrations/*.sql explains the columns. Times are Unix seconds. */
export interface PublicationRow {
  id: number
  state: 'staging' | 'waiting' | 'scheduled' | 'published' | 'conflicted' | 'cancelled' | 'replaced'
  actor: string
  command: string
  note: string | null
  createdAt: number
  baseRevision: number
  planCount: number
  plansHash: string | null
  undoneId: number | null
  replacesId: number | null
  dueAt: number | null
  approvedBy: string | null
  approvedAt: number | null
  approvedNote: string | null
  decidedBy: string | null
  decidedAt: number | null
  decidedNote: string | null
  conflict: string | null
  /** Null until it is published. */
  revision: number | null
}

const columns = (
  'id state actor command note created_at base_revision plan_count plans_hash undone_id replaces_id due_at ' +
  'approved_by approved_at approved_note decided_by decided_at decided_note conflict revision'
).split(' ')

/** A plan before and after a publication; null where it does not exist. */
export interface PlanChange {
  planId: number
  before: CatalogPlan | null
  after: CatalogPlan | null
}

export const pendingStates = ['waiting', 'scheduled'] as const

export async function selectPublication(db: Database, id: number): Promise<PublicationRow | undefined> {
  const [row] = await selectWhere(db, sql`id = ${id}`)
  return row
}

/** Selects the publication that replaced this one, or this one. */
export async function selectLatest(db: Database, id: number): Promise<PublicationRow | undefined> {
  const [row] = await selectWhere(db, sql`(id = ${id} or (replaces_id = ${id} and state = 'published'))`)
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
  const isTouching =
    planIds && sql`id in (select publication_id from plan_versions where plan_id in ${listOf(planIds)})`
  const isRecent =
    since === undefined ? undefined : sql`(created_at >= ${since} or approved_at >= ${since} or decided_at >= ${since})`
  const isLater = afterRevision === undefined ? undefined : sql`revision > ${afterRevision}`
  return selectWhere(db, and(isTouching, isRecent, isLater, states && sql`state in ${listOf(states)}`))
}

/** Staged publications are hidden. */
function selectWhere(db: Database, condition: SQL = sql`true`): Promise<PublicationRow[]> {
  return readAll<PublicationRow>((last, limit) => {
    const isNext = sql`id < ${last?.id ?? Number.MAX_SAFE_INTEGER}`
    const source = sql`from publications where state <> 'staging' and ${isNext} and ${condition} order by id desc`
    return selectObjects(db, columns, sql`${source} limit ${limit}`)
  })
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
