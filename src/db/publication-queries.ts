// SQL for the record of the catalog: stages publications and reads them back. The Worker doesn't use it.
import { and, desc, eq, getTableColumns, gte, inArray, lt, or, sql, type SQL } from 'drizzle-orm'
import { readPlan, storePlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { hasId } from './catalog-queries.ts'
import type { Database } from './database.ts'
import { readPages, readAll } from './pages.ts'
import { selectRecorded, type RecordedEntry } from './publish.ts'
import { hashText } from './record-hash.ts'
import { planVersions, publicationEntries, publications } from './schema.ts'

export type Proposal = typeof publications.$inferSelect
export type Entry = typeof publicationEntries.$inferSelect

/** A publication and the decisions about it, the earliest first. */
export interface PublicationRow extends Proposal {
  entries: Entry[]
  /** The revision of the catalog that it made; null until it is published. */
  revision: number | null
}

/** A plan before and after a publication; null where it does not exist. */
export interface PlanChange {
  planId: number
  before: CatalogPlan | null
  after: CatalogPlan | null
}

export interface NewPublication extends Pick<Proposal, 'actor' | 'command' | 'note' | 'needsApproval'> {
  /** The revision of the catalog that the change was computed from. */
  baseRevision: number
  /** Unix seconds. */
  dueAt: number | null
  /** The publication that this one undoes. */
  undoneId: number | null
}

type Version = [planId: number, document: string | null, viewableIn: string | null]

/**
 * Writes a publication that has no effect yet. When it is interrupted, a publication after the next hour deletes what it left.
 * @returns its number.
 */
export async function stagePublication(
  db: Database,
  publication: NewPublication,
  changes: readonly Pick<PlanChange, 'planId' | 'after'>[],
  onStaged: (done: number, total: number) => void,
): Promise<number> {
  const versions = changes.map(({ planId, after }): Version => {
    if (after === null) return [planId, null, null]
    const { document, viewableIn } = storePlan(after)
    return [planId, document, viewableIn]
  })
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
      planCount: versions.length,
      plansHash: (await hashVersions(versions)) ?? sql`null`,
    })
    .returning({ id: publications.id })
  if (row === undefined) throw new Error('D1 returned no row')
  const chunks = chunk(versions.map((version) => JSON.stringify(version)))
  for (const [index, json] of chunks.entries()) {
    onStaged(index, chunks.length)
    // Only what is not there yet: it runs again when the answer was lost.
    await db.run(
      sql`insert into ${planVersions} (publication_id, plan_id, document, viewable_in)
        select ${row.id}, value ->> 0, value ->> 1, value ->> 2 from json_each(${json})
        where not exists (select 1 from plan_versions where publication_id = ${row.id} and plan_id = value ->> 0)`,
    )
  }
  onStaged(chunks.length, chunks.length)
  return row.id
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

/** @returns null for no version. */
async function hashVersions(versions: readonly Version[]): Promise<string | null> {
  return versions.length === 0 ? null : hashText(JSON.stringify(versions.toSorted(([a], [b]) => a - b)))
}

/** Computes the hash of the plans of a publication again. */
export async function hashStoredPlans(db: Database, id: number): Promise<string | null> {
  const rows = await readAll<Version>((last, limit) =>
    db.values(sql`
      select plan_id, document, viewable_in from plan_versions
      where publication_id = ${id} and plan_id > ${last?.[0] ?? -1} order by plan_id limit ${limit}`),
  )
  return hashVersions(rows)
}

/** Lets a staged publication wait. @returns whether it was still staged. */
export async function releasePublication(db: Database, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  const rows = await db.values(
    sql`update publications set state = ${state} where id = ${id} and state = 'staging' returning id`,
  )
  return rows.length > 0
}

/** Staged publications are hidden. An entry about one shows that its state was changed. */
const isVisible = sql`(publications.state <> 'staging' or publications.id in (select publication_id from publication_entries))`
export const pendingStates = ['waiting', 'scheduled'] as const
const isPendingState = inArray(publications.state, pendingStates)

/** Drizzle leaves out the table of a selected column, so it is written out here: entries have an `id`, too. */
const entriesOfPublication = sql`(
  select json_group_array(json_object('id', entry.id, 'publicationId', entry.publication_id, 'kind', entry.kind,
    'actor', entry.actor, 'note', entry.note, 'madeAt', entry.made_at, 'revision', entry.revision,
    'previousHash', entry.previous_hash) order by entry.id)
  from publication_entries as entry where entry.publication_id = publications.id
)`.mapWith((json: string): Entry[] => JSON.parse(json))

const revisionOfPublication = sql<number | null>`(
  select max(entry.revision) from publication_entries as entry where entry.publication_id = publications.id
)`

/** Selects the latest first. */
function selectPublicationsWhere(db: Database, condition: SQL | undefined): Promise<PublicationRow[]> {
  const columns = {
    ...getTableColumns(publications),
    entries: entriesOfPublication,
    revision: revisionOfPublication,
  }
  return readAll<PublicationRow>((last, limit) =>
    db
      .select(columns)
      .from(publications)
      .where(and(isVisible, condition, last && lt(publications.id, last.id)))
      .orderBy(desc(publications.id))
      .limit(limit),
  )
}

export async function selectPublication(db: Database, id: number): Promise<PublicationRow | undefined> {
  const [row] = await selectPublicationsWhere(db, eq(publications.id, id))
  return row
}

export interface PublicationFilter {
  /** Publications that touch one of these plans. */
  planIds?: readonly number[] | undefined
  /** Unix seconds. */
  since?: number | undefined
  states?: readonly Proposal['state'][] | undefined
}

/** Selects the latest first. */
export function selectPublications(
  db: Database,
  { planIds, since, states }: PublicationFilter,
): Promise<PublicationRow[]> {
  const touching =
    planIds && sql`${publications.id} in (select publication_id from plan_versions where ${isOneOf(planIds)})`
  const decidedSince =
    since === undefined
      ? undefined
      : sql`${publications.id} in (select publication_id from publication_entries where made_at >= ${since} + 0)`
  const sinceThen = since === undefined ? undefined : or(gte(publications.createdAt, since), decidedSince)
  return selectPublicationsWhere(db, and(touching, sinceThen, states && inArray(publications.state, states)))
}

/** D1 allows 100 parameters. */
function isOneOf(planIds: readonly number[]): SQL {
  return sql`plan_versions.plan_id in (select value from json_each(${JSON.stringify(planIds)}))`
}

/** Reads the entries that follow one, in their order and in pages. */
export function readEntries(db: Database, afterId = 0): AsyncGenerator<RecordedEntry[]> {
  return readPages<RecordedEntry>((last, limit) =>
    db.values(sql`${selectRecorded} where entry.id > ${last?.[0] ?? afterId} order by entry.id limit ${limit}`),
  )
}

/** Selects what a publication changes, in ascending order of the plans. @param planIds only these plans. */
export async function selectChanges(db: Database, id: number, planIds?: readonly number[]): Promise<PlanChange[]> {
  const isWanted =
    planIds === undefined ? sql`true` : sql`own.plan_id in (select value from json_each(${JSON.stringify(planIds)}))`
  // Before is the version that was the newest at the revision that the publication was computed from.
  const rows = await readAll<[...Version, documentBefore: string | null, viewableInBefore: string | null]>(
    (last, limit) =>
      db.values(sql`
      select own.plan_id, own.document, own.viewable_in, earlier.document, earlier.viewable_in
      from plan_versions as own join publications on publications.id = own.publication_id
      left join plan_versions as earlier on earlier.plan_id = own.plan_id and earlier.publication_id = (
        select version.publication_id from plan_versions as version
        join publication_entries as entry on entry.publication_id = version.publication_id
        where version.plan_id = own.plan_id and entry.revision <= publications.base_revision
        order by entry.revision desc limit 1
      )
      where own.publication_id = ${id} and own.plan_id > ${last?.[0] ?? -1} and ${isWanted} order by own.plan_id limit ${limit}`),
  )
  return rows.map(([planId, document, viewableIn, ...before]) => ({
    planId,
    before: readVersion(...before),
    after: readVersion(document, viewableIn),
  }))
}

function readVersion(document: string | null, viewableIn: string | null): CatalogPlan | null {
  return document === null || viewableIn === null ? null : readPlan({ document, viewableIn })
}

/** A plan that a later publication changes. */
export interface Touch {
  planId: number
  publicationId: number
  undoneId: number | null
}

/** Selects which of some plans later publications changed, the earliest first. */
export async function selectLaterTouches(db: Database, revision: number, planIds: readonly number[]): Promise<Touch[]> {
  const rows = await readAll<[publicationId: number, planId: number, undoneId: number | null]>((last, limit) => {
    // The HTTP API sends numbers as text.
    const [lastId = 0, lastPlanId = -1] = last ?? []
    return db.values(sql`
      select publications.id, plan_versions.plan_id, publications.undone_id
      from publication_entries as entry join publications on publications.id = entry.publication_id
      join plan_versions on plan_versions.publication_id = publications.id
      where entry.revision > ${revision} and ${isOneOf(planIds)}
        and (publications.id, plan_versions.plan_id) > (cast(${lastId} as integer), cast(${lastPlanId} as integer))
      order by 1, 2 limit ${limit}`)
  })
  return rows.map(([publicationId, planId, undoneId]) => ({ planId, publicationId, undoneId }))
}

/** Selects the pending publications that change one of these plans, or give a plan an identifier that one of these has. */
export async function selectOverlapping(
  db: Database,
  changes: readonly Pick<PlanChange, 'planId' | 'after'>[],
): Promise<number[]> {
  const identifiers = JSON.stringify(changes.flatMap(({ after }) => after?.identifier ?? []))
  const rows = await db.values<[number]>(sql`
    select distinct publications.id from publications
    join plan_versions on plan_versions.publication_id = publications.id
    where ${isPendingState} and (
      ${isOneOf(changes.map(({ planId }) => planId))}
      or document ->> '$.identifier' in (select value from json_each(${identifiers}))
    )
    order by publications.id`)
  return rows.map(([id]) => id)
}

/**
 * Selects the catalog as it was at a revision, in ascending order of ID.
 * @param name only the plan with this identifier or ID.
 */
export function selectCatalogAt(db: Database, revision: number, name?: string): Promise<CatalogPlan[]> {
  const isNamed = name === undefined ? sql`true` : sql`plan_versions.plan_id in (${selectNamed(name)})`
  return selectNewest(db, sql`entry.revision <= ${revision} and ${isNamed}`)
}

/** Selects the version before the newest one of each plan. */
export function selectPreviousVersions(db: Database): Promise<CatalogPlan[]> {
  return selectNewest(
    db,
    sql`entry.revision < (
      select max(newest.revision) from plan_versions as version
      join publication_entries as newest on newest.publication_id = version.publication_id
      where version.plan_id = plan_versions.plan_id
    )`,
  )
}

/** Selects the newest of the published versions of each plan, in ascending order of ID. */
async function selectNewest(db: Database, condition: SQL): Promise<CatalogPlan[]> {
  // With max(), SQLite takes the other columns from the row that has the maximum.
  const rows = await readAll<[...Version, revision: number]>((last, limit) =>
    db.values(sql`
      select plan_versions.plan_id, document, viewable_in, max(entry.revision)
      from plan_versions join publication_entries as entry on entry.publication_id = plan_versions.publication_id
      where entry.revision is not null and ${condition} and plan_versions.plan_id > ${last?.[0] ?? -1}
      group by plan_versions.plan_id order by plan_versions.plan_id limit ${limit}`),
  )
  return rows.flatMap(([, document, viewableIn]) => readVersion(document, viewableIn) ?? [])
}

function selectNamed(name: string): SQL {
  return sql`select plan_id from plan_versions where document ->> '$.identifier' = ${name} or ${hasId(sql`plan_id`, name)}`
}

/** Selects the revision of the catalog at a time in Unix seconds; null before the first publication. */
export async function selectRevisionAt(db: Database, atSeconds: number): Promise<number | null> {
  const [row] = await db.values<[number | null]>(
    sql`select max(revision) from publication_entries where made_at <= ${atSeconds}`,
  )
  return row?.[0] ?? null
}

/** Selects the IDs of the plans that ever had this identifier, or else the plan with this ID, if it was ever changed. */
export async function selectRecordedPlanIds(db: Database, name: string): Promise<number[]> {
  const rows = await db.values<[planId: number, isNamed: number]>(sql`
    select plan_id, max(coalesce(document ->> '$.identifier' = ${name}, 0))
    from plan_versions where plan_id in (${selectNamed(name)}) group by plan_id`)
  const named = rows.filter(([, isNamed]) => isNamed)
  return (named.length > 0 ? named : rows).map(([planId]) => planId)
}

/** A pending or conflicted publication, and a plan that keeps it from being published. */
export interface Clash {
  publicationId: number
  planId: number
  /** The publication that changed the plan meanwhile. */
  laterId: number
}

/** Selects plans that were changed after a publication was staged, and plans that have an identifier of it by now. */
export async function selectClashes(db: Database): Promise<Clash[]> {
  const rows = await db.values<[number, number, number]>(sql`
    with ours as (
      select publication_id, plan_id, base_revision, document ->> '$.identifier' as identifier
      from ${publications} join plan_versions on plan_versions.publication_id = publications.id
      where publications.state in ('waiting', 'scheduled', 'conflicted')
    )
    select ours.publication_id, ours.plan_id, theirs.publication_id
    from ours join plan_versions as theirs on theirs.plan_id = ours.plan_id
    join publication_entries as later on later.publication_id = theirs.publication_id and later.revision > base_revision
    union
    select ours.publication_id, plans.id, (select max(publication_id) from plan_versions where plan_id = plans.id)
    from ours join plans on plans.identifier = ours.identifier
    where plans.id not in (select plan_id from ours as own where own.publication_id = ours.publication_id)
    order by 1, 3, 2`)
  return rows.map(([publicationId, planId, laterId]) => ({ publicationId, planId, laterId }))
}

/** Whether the record knows a revision of the catalog. */
export async function isRecordedRevision(db: Database, revision: number): Promise<boolean> {
  const rows = await db.values(sql`select 1 from publication_entries where revision = ${revision}`)
  return rows.length > 0
}

/** D1's clock, in Unix seconds. */
export async function selectNowSeconds(db: Database): Promise<number> {
  const [row] = await db.values<[number]>(sql`select unixepoch() from catalog_revision`)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return row[0]
}
