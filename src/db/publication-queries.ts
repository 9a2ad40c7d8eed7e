// SQL of the record of the catalog: stages publications and reads them back. The Worker doesn't use it.
import {
  and,
  asc,
  desc,
  eq,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  max,
  ne,
  or,
  sql,
  type SQL,
} from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import type { Database } from './database.ts'
import { toApprovalColumns, type Approval, type PublicationRow } from './publish.ts'
import { hashText } from './record-hash.ts'
import { catalogRevision, publicationPlans, publications } from './schema.ts'

/** A plan before and after a publication; null where it does not exist. */
export interface PlanChange {
  planId: number
  before: CatalogPlan | null
  after: CatalogPlan | null
}

export interface NewPublication {
  actor: string
  command: string
  note: string | null
  /** The revision of the catalog that the change was computed from. */
  baseRevision: number
  needsApproval: boolean
  /** Unix seconds. */
  dueAt: number | null
  /** The publication that this one undoes. */
  undoneId: number | null
  /** Unix seconds: it records that publications before this time were pruned. */
  prunesBefore?: number
}

type StagedPlan = [planId: number, before: string | null, after: string | null]

/**
 * Writes a publication that has no effect yet. When it is interrupted, the next publication deletes what it left.
 * @returns its number.
 */
export async function stagePublication(
  db: Database,
  publication: NewPublication,
  changes: readonly PlanChange[],
  onStaged: (done: number, total: number) => void,
): Promise<number> {
  const staged = changes.map(({ planId, before, after }): StagedPlan => [planId, toJson(before), toJson(after)])
  const { note, dueAt, undoneId } = publication
  const [row] = await db
    .insert(publications)
    .values({
      ...publication,
      state: 'staging',
      note: note ?? sql`null`,
      dueAt: dueAt ?? sql`null`,
      undoneId: undoneId ?? sql`null`,
      needsApproval: sql`${Number(publication.needsApproval)}`,
      createdAt: sql`unixepoch()`,
      planCount: staged.length,
      plansHash: await hashStagedPlans(staged),
    })
    .returning({ id: publications.id })
  if (row === undefined) throw new Error('D1 returned no row')
  const chunks = chunk(staged.map((plan) => JSON.stringify(plan)))
  for (const [index, json] of chunks.entries()) {
    onStaged(index, chunks.length)
    // Only what is not there yet: it runs again when the answer was lost.
    await db.run(
      sql`insert into ${publicationPlans} (publication_id, plan_id, before, after)
        select ${row.id}, value ->> 0, value ->> 1, value ->> 2 from json_each(${json})
        where not exists (select 1 from publication_plans where publication_id = ${row.id} and plan_id = value ->> 0)`,
    )
  }
  onStaged(chunks.length, chunks.length)
  return row.id
}

function toJson(plan: CatalogPlan | null): string | null {
  return plan && JSON.stringify(plan)
}

/** D1 allows 2,000,000 bytes in one parameter. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxCharactersPerParameter = 500_000

/** Joins JSON texts to JSON arrays of at most about `maxCharactersPerParameter` characters. */
function chunk(items: readonly string[]): string[] {
  const chunks: string[][] = []
  let length = Infinity
  for (const item of items) {
    if (length + item.length > maxCharactersPerParameter) {
      chunks.push([])
      length = 0
    }
    chunks.at(-1)?.push(item)
    length += item.length + 1
  }
  return chunks.map((texts) => `[${texts.join(',')}]`)
}

function hashStagedPlans(plans: readonly StagedPlan[]): Promise<string> {
  return hashText(JSON.stringify(plans.toSorted(([a], [b]) => a - b)))
}

/** Computes the hash of the plans of a publication again. */
export async function hashStoredPlans(db: Database, id: number): Promise<string> {
  const { planId, before, after } = publicationPlans
  const rows = await db.select({ planId, before, after }).from(publicationPlans).where(isOfPublication(id))
  return hashStagedPlans(rows.map((row) => [row.planId, row.before, row.after]))
}

/** Lets a staged publication wait. @returns whether it was still staged. */
export async function releasePublication(db: Database, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  const rows = await db
    .update(publications)
    .set({ state })
    .where(and(eq(publications.id, id), eq(publications.state, 'staging')))
    .returning({ id: publications.id })
  return rows.length > 0
}

/** Approves a publication for its time. @returns whether it still waited. */
export async function approveForLater(db: Database, id: number, approval: Approval): Promise<boolean> {
  const rows = await db
    .update(publications)
    .set({ state: 'scheduled', ...toApprovalColumns(approval) })
    .where(and(eq(publications.id, id), eq(publications.state, 'waiting')))
    .returning({ id: publications.id })
  return rows.length > 0
}

export async function selectPublication(db: Database, id: number): Promise<PublicationRow | undefined> {
  const [row] = await db
    .select()
    .from(publications)
    .where(and(eq(publications.id, id), isVisible))
  return row
}

export interface PublicationFilter {
  /** Publications that touch one of these plans. */
  planIds?: readonly number[]
  /** Unix seconds. */
  since?: number
  isPending?: boolean
}

const isVisible = ne(publications.state, 'staging')
const isPendingState = inArray(publications.state, ['waiting', 'scheduled'])

/** Selects the latest first. */
export function selectPublications(
  db: Database,
  { planIds, since, isPending = false }: PublicationFilter,
): Promise<PublicationRow[]> {
  const touching =
    planIds === undefined
      ? undefined
      : inArray(
          publications.id,
          db
            .select({ id: publicationPlans.publicationId })
            .from(publicationPlans)
            .where(inArray(publicationPlans.planId, [...planIds])),
        )
  const sinceThen =
    since === undefined
      ? undefined
      : or(gte(publications.createdAt, since), gte(publications.publishedAt, since), gte(publications.endedAt, since))
  return db
    .select()
    .from(publications)
    .where(and(isVisible, touching, sinceThen, isPending ? isPendingState : undefined))
    .orderBy(desc(publications.id))
}

export function selectPublicationsInState(db: Database, state: PublicationRow['state']): Promise<PublicationRow[]> {
  return db.select().from(publications).where(eq(publications.state, state)).orderBy(asc(publications.id))
}

/** Selects the published publications in the order of their revisions. */
export function selectPublished(db: Database): Promise<PublicationRow[]> {
  return db.select().from(publications).where(isNotNull(publications.revision)).orderBy(asc(publications.revision))
}

export async function selectChanges(db: Database, id: number): Promise<PlanChange[]> {
  const { planId, before, after } = publicationPlans
  const rows = await db
    .select({ planId, before, after })
    .from(publicationPlans)
    .where(isOfPublication(id))
    .orderBy(asc(planId))
  return rows.map((row) => ({ planId: row.planId, before: parsePlan(row.before), after: parsePlan(row.after) }))
}

function isOfPublication(id: number): SQL {
  return eq(publicationPlans.publicationId, id)
}

/** Written by this command line or by a migration, from plans that an import has checked. */
function parsePlan(json: string | null): CatalogPlan | null {
  return json === null ? null : JSON.parse(json)
}

/** A plan that a later or pending publication changes. */
export interface Touch {
  planId: number
  publicationId: number
  undoneId: number | null
}

/** Selects the plans that later publications changed, the earliest first. */
export function selectLaterTouches(db: Database, revision: number): Promise<Touch[]> {
  return selectTouches(db, gt(publications.revision, revision))
}

/** Selects the plans that waiting and scheduled publications would change. */
export function selectPendingTouches(db: Database): Promise<Touch[]> {
  return selectTouches(db, isPendingState)
}

function selectTouches(db: Database, condition: SQL): Promise<Touch[]> {
  const { planId, publicationId } = publicationPlans
  return db
    .select({ planId, publicationId, undoneId: publications.undoneId })
    .from(publications)
    .innerJoin(publicationPlans, eq(publicationId, publications.id))
    .where(condition)
    .orderBy(asc(publicationId), asc(planId))
}

/**
 * Selects the catalog as it was at a revision, in ascending order of ID.
 * @param name only the plan with this identifier or ID.
 */
export async function selectCatalogAt(db: Database, revision: number, name?: string): Promise<CatalogPlan[]> {
  // With max(), SQLite takes the other columns from the row that has the maximum.
  const rows = await db
    .select({ after: publicationPlans.after, revision: max(publications.revision) })
    .from(publicationPlans)
    .innerJoin(publications, eq(publications.id, publicationPlans.publicationId))
    .where(and(lte(publications.revision, revision), name === undefined ? undefined : isVersionOf(db, name)))
    .groupBy(publicationPlans.planId)
    .orderBy(asc(publicationPlans.planId))
  return rows.flatMap(({ after }) => parsePlan(after) ?? [])
}

function isVersionOf(db: Database, name: string): SQL {
  const { planId, after } = publicationPlans
  const id = /^[0-9]{1,16}$/.test(name) ? eq(planId, Number(name)) : undefined
  const identifier = sql`${after} ->> '$.identifier' = ${name}`
  return inArray(planId, db.select({ planId }).from(publicationPlans).where(or(identifier, id)))
}

/** Selects the latest recorded change of each plan. */
export async function selectLatestVersions(db: Database): Promise<PlanChange[]> {
  const { planId, before, after } = publicationPlans
  const rows = await db
    .select({ planId, before, after, revision: max(publications.revision) })
    .from(publicationPlans)
    .innerJoin(publications, eq(publications.id, publicationPlans.publicationId))
    .where(isNotNull(publications.revision))
    .groupBy(planId)
  return rows.map((row) => ({ planId: row.planId, before: parsePlan(row.before), after: parsePlan(row.after) }))
}

/** Selects the revision of the catalog at a time in Unix seconds; null before the first publication. */
export async function selectRevisionAt(db: Database, atSeconds: number): Promise<number | null> {
  const [row] = await db
    .select({ revision: max(publications.revision) })
    .from(publications)
    .where(lte(publications.publishedAt, atSeconds))
  return row?.revision ?? null
}

/** Selects the IDs of the plans that ever had this identifier, or else the plan with this ID, if it was ever changed. */
export async function selectRecordedPlanIds(db: Database, name: string): Promise<number[]> {
  const { planId, before, after } = publicationPlans
  const hasName = sql<number>`coalesce(${after}, ${before}) ->> '$.identifier' = ${name}`
  const hasId = /^[0-9]{1,16}$/.test(name) ? eq(planId, Number(name)) : undefined
  const rows = await db.selectDistinct({ planId, isNamed: hasName }).from(publicationPlans).where(or(hasName, hasId))
  const named = rows.filter(({ isNamed }) => isNamed)
  return [...new Set((named.length > 0 ? named : rows).map((row) => row.planId))]
}

/** A pending or conflicted publication, and a plan of it that was changed after it was staged. */
export interface Clash {
  publicationId: number
  planId: number
  laterId: number
}

export function selectClashes(db: Database): Promise<Clash[]> {
  const [theirs, later] = [alias(publicationPlans, 'theirs'), alias(publications, 'later')]
  return db
    .select({ publicationId: publications.id, planId: publicationPlans.planId, laterId: later.id })
    .from(publications)
    .innerJoin(later, gt(later.revision, publications.baseRevision))
    .innerJoin(theirs, eq(theirs.publicationId, later.id))
    .innerJoin(
      publicationPlans,
      and(eq(publicationPlans.publicationId, publications.id), eq(publicationPlans.planId, theirs.planId)),
    )
    .where(inArray(publications.state, ['waiting', 'scheduled', 'conflicted']))
    .orderBy(asc(publications.id), asc(later.id))
}

/** Whether the record knows a revision of the catalog. */
export async function isRecordedRevision(db: Database, revision: number): Promise<boolean> {
  const [row] = await db.select({ id: publications.id }).from(publications).where(eq(publications.revision, revision))
  return row !== undefined
}

/** Where the record starts to answer. Times are Unix seconds. */
export interface RecordStart {
  revision: number
  publishedAt: number
  /** Whether the record covers everything: nothing was pruned, and no migration recorded the first plans. */
  isComplete: boolean
}

/** Selects the last publication that was pruned, or the first of all; undefined while there is none. */
export async function selectRecordStart(db: Database): Promise<RecordStart | undefined> {
  const [row] = await db
    .select({
      revision: publications.revision,
      publishedAt: publications.publishedAt,
      prunedBefore: publications.prunedBefore,
      plansHash: publications.plansHash,
    })
    .from(publications)
    .where(isNotNull(publications.revision))
    .orderBy(
      sql`${publications.prunedBefore} is null`,
      sql`iif(${publications.prunedBefore} is null, 1, -1) * revision`,
    )
    .limit(1)
  if (row === undefined || row.revision === null || row.publishedAt === null) return undefined
  const isComplete = row.prunedBefore === null && row.plansHash !== null
  return { revision: row.revision, publishedAt: row.publishedAt, isComplete }
}

/**
 * Empties the plans of old publications that later publications before that time replaced.
 * @returns how many publications lost plans.
 */
export async function prunePublications(db: Database, beforeSeconds: number): Promise<number> {
  const isReplaced = sql`exists (
    select 1 from publication_plans as old join publication_plans as newer on newer.plan_id = old.plan_id
    join publications as later on later.id = newer.publication_id
    where old.publication_id = publications.id and (old.before is not null or old.after is not null)
      and later.revision > publications.revision and later.published_at < ${beforeSeconds} + 0
  )`
  const hasEnded = and(lt(publications.endedAt, beforeSeconds), isNull(publications.prunedBefore))
  const rows = await db
    .update(publications)
    .set({ prunedBefore: beforeSeconds })
    .where(or(and(lt(publications.publishedAt, beforeSeconds), isReplaced), hasEnded))
    .returning({ id: publications.id })
  return rows.length
}

/** D1's clock, in Unix seconds. */
export async function selectNowSeconds(db: Database): Promise<number> {
  const [row] = await db.select({ now: sql<number>`unixepoch()` }).from(catalogRevision)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return row.now
}
