// Publishes and ends publications: each with one UPDATE, which has an effect once. For the command line and for the Worker's
// schedule.
import { sql, type SQL } from 'drizzle-orm'
import type { Database } from './database.ts'
import { mergePending, stageReplacement } from './merge-pending.ts'
import { hasLeftovers } from './partner-changes.ts'
import { isNotSuperseded, newestRevision, selectNewestVersions } from './plan-queries.ts'
import { orNull } from './sql-values.ts'
import { isAbandoned } from './stage-publication.ts'

/** Who decides about a publication. */
export interface Decision {
  publicationId: number
  actor: string
  note: string | null
}

/** `now`: its author publishes it. `due`: the schedule, at its time. `approve`: another operator approves it, and it is due. */
export type PublishMode = 'now' | 'due' | 'approve'

export interface Published {
  kind: 'published'
  publicationId: number
  revision: number
}

/**
 * `overtaken`: others changed the same plans since.
 * `conflict`: the result would contradict itself.
 * `unavailable`: the publication does not exist, or is in another state.
 */
export type PublishOutcome =
  | Published
  | { kind: 'overtaken' }
  | { kind: 'conflict'; reason: string }
  | { kind: 'unavailable' }

/** Whether `pending` may be published. It is the publication itself, or the one that it replaces. */
function isReady(mode: PublishMode, actor: string): SQL {
  const isDue = sql`pending.due_at <= unixepoch()`
  switch (mode) {
    case 'now':
      return sql`pending.state = 'staging' and pending.needs_approval = 0`
    case 'due':
      return sql`pending.state = 'scheduled' and ${isDue} and (pending.needs_approval = 0 or pending.approved_by is not null)`
    case 'approve':
      return sql`pending.state = 'waiting' and lower(pending.actor) <> lower(${actor}) and coalesce(${isDue}, 1)`
  }
}

const conflicts = {
  is_overtaken: 'others changed its plans',
  has_identifier_twice: 'another plan has an identifier of it',
  is_contradicting: 'others changed a category, plan type, risk level or fund manager',
  has_other_members: 'its plans have other fields than the catalog',
}

/** Removed plans have none. */
const documentsOf = (versions: 'own' | 'others' | 'result') =>
  sql.raw(`(select document from ${versions} join plan_versions on rowid = version where document is not null)`)

/**
 * The conditions, one row: both for publishing, and for the reason when nothing was published.
 *
 * - Objects with the same ID, such as a category or a fund manager, must be the same in all plans.
 * - All current plans have the same members. A publication that replaces all of them may add one.
 */
function withConditions({ publicationId, actor }: Decision, mode: PublishMode): SQL {
  return sql`
    with candidate as materialized (select * from publications where id = ${publicationId}),
    pending as materialized (
      select * from publications where id = (select coalesce(replaces_id, id) from candidate)
    ),
    own as materialized (select rowid as version, plan_id from plan_versions where publication_id = ${publicationId}),
    others as materialized (
      select version from (${selectNewestVersions(isNotSuperseded)}) where plan_id not in (select plan_id from own)
    ),
    result as materialized (select version from own union all select version from others),
    conditions as materialized (
      select
        ${isReady(mode, actor)} and (candidate.id = pending.id or candidate.state = 'staging') as is_ready,
        candidate.plan_count = (select count(*) from own) as is_complete,
        exists (
          select 1 from publications as later join plan_versions as theirs on theirs.publication_id = later.id
          where later.revision > candidate.base_revision and theirs.plan_id in (select plan_id from own)
        ) as is_overtaken,
        exists (
          select 1 from ${documentsOf('result')} group by document ->> '$.identifier' having count(*) > 1
        ) as has_identifier_twice,
        exists (
          select 1 from (select distinct key, value from ${documentsOf('result')}, json_each(document) where type = 'object')
          where value ->> '$.id' is not null group by key, value ->> '$.id' having count(*) > 1
        ) as is_contradicting,
        1 < (
          select count(distinct (select group_concat(key) from json_each(document))) from (
            select document from ${documentsOf('own')} union all select * from (select document from ${documentsOf('others')} limit 1)
          )
        ) as has_other_members
      from candidate cross join pending
    )`
}

/**
 * Publishes all of a publication or nothing. A publication that replaces a pending one ends that one with the same statement.
 * The conditions don't depend on the row that is updated, so both rows change or none.
 */
export async function publish(db: Database, decision: Decision, mode: PublishMode): Promise<PublishOutcome> {
  const { publicationId, actor, note } = decision
  const isCandidate = sql`id = ${publicationId}`
  // At least the time in milliseconds, also when the clock was set back.
  const revision = sql`max(${newestRevision} + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
  const approve = (value: SQL, column: string) =>
    mode === 'approve' ? sql`iif(${isCandidate}, ${value}, ${sql.raw(column)})` : sql.raw(column)
  const rows = await db.values<[revision: number | null]>(sql`
    ${withConditions(decision, mode)}
    update publications set
      state = iif(${isCandidate}, 'published', 'replaced'), revision = iif(${isCandidate}, ${revision}, null),
      approved_by = ${approve(sql`${actor}`, 'approved_by')}, approved_at = ${approve(sql`unixepoch()`, 'approved_at')},
      approved_note = ${approve(orNull(note), 'approved_note')},
      decided_by = ${actor}, decided_at = unixepoch(), decided_note = ${orNull(note)}
    where id in (select id from candidate union select id from pending) and (
      select is_ready and is_complete and not (${sql.raw(Object.keys(conflicts).join(' or '))})
      from conditions
    )
    returning revision`)
  const published = rows.find((row) => row[0] !== null)
  if (published?.[0] != null) return { kind: 'published', publicationId, revision: published[0] }

  const { isReadyNow, isComplete, reason } = await explain(db, decision, mode)
  if (isReadyNow && !isComplete) throw new Error(`Publication ${publicationId} lacks plans that were staged`)
  if (!isReadyNow || reason === undefined) return { kind: 'unavailable' }
  return reason === conflicts.is_overtaken ? { kind: 'overtaken' } : { kind: 'conflict', reason }
}

/**
 * Publishes a pending publication. When others changed its plans since, it is staged again, merged with that, and published as the
 * new row.
 * @returns `overtaken` when another publication came between: try again.
 */
export async function publishPending(
  db: Database,
  decision: Decision,
  mode: 'due' | 'approve',
): Promise<PublishOutcome> {
  const outcome = await publish(db, decision, mode)
  if (outcome.kind !== 'overtaken') return outcome
  const merge = await mergePending(db, decision.publicationId)
  if ('conflict' in merge) return { kind: 'conflict', reason: merge.conflict }
  const id = await stageReplacement(db, decision.publicationId, merge)
  if (id === undefined) return { kind: 'unavailable' }
  return publish(db, { ...decision, publicationId: id }, mode)
}

/** Tells why nothing was published. */
async function explain(db: Database, decision: Decision, mode: PublishMode) {
  const [found] = await db.values<number[]>(sql`
    ${withConditions(decision, mode)}
    select is_ready, is_complete, ${sql.raw(Object.keys(conflicts).join(', '))} from conditions`)
  const [isReadyNow, isComplete, ...defects] = found ?? []
  return { isReadyNow, isComplete, reason: Object.values(conflicts)[defects.findIndex(Boolean)] }
}

/** Tells why a pending publication could not be published now, at its time or before; undefined when it could. */
export async function findConflict(db: Database, publicationId: number): Promise<string | undefined> {
  const { reason } = await explain(db, { publicationId, actor: '', note: null }, 'due')
  if (reason !== conflicts.is_overtaken) return reason
  const merge = await mergePending(db, publicationId)
  return 'conflict' in merge ? merge.conflict : undefined
}

/** Lets a staged publication wait. @returns whether it could: it may have been deleted meanwhile. */
export function releasePublication(db: Database, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  const isComplete = sql`plan_count = (select count(*) from plan_versions where publication_id = publications.id)`
  return update(db, id, sql`state = ${state}`, sql`state = 'staging' and ${isComplete}`)
}

/** Approves a publication that is due later. @returns false when it does not wait, is due, or is by the same actor. */
export function approveForLater(db: Database, { publicationId, actor, note }: Decision): Promise<boolean> {
  return update(
    db,
    publicationId,
    sql`state = 'scheduled', approved_by = ${actor}, approved_at = unixepoch(), approved_note = ${orNull(note)}`,
    sql`state = 'waiting' and lower(actor) <> lower(${actor}) and due_at > unixepoch()`,
  )
}

/** Ends a pending publication: cancelled, or with a conflict. A conflicted one can be cancelled, too. @returns whether it could. */
export function endPublication(
  db: Database,
  { publicationId, actor, note }: Decision,
  conflict: string | null = null,
): Promise<boolean> {
  const end = conflict === null ? sql`state = 'cancelled'` : sql`state = 'conflicted', conflict = ${conflict}`
  const states = conflict === null ? sql`('waiting', 'scheduled', 'conflicted')` : sql`('waiting', 'scheduled')`
  return update(
    db,
    publicationId,
    sql`${end}, decided_by = ${actor}, decided_at = unixepoch(), decided_note = ${orNull(note)}`,
    sql`state in ${states}`,
  )
}

async function update(db: Database, id: number, changes: SQL, condition: SQL): Promise<boolean> {
  const rows = await db.values(sql`update publications set ${changes} where id = ${id} and ${condition} returning id`)
  return rows.length > 0
}

/**
 * Marks versions that are not current, and never will be: older ones, and those of publications that ended. It may run late, or
 * twice: it only saves reading.
 */
export async function markSuperseded(db: Database): Promise<void> {
  await db.run(sql`
    with newest as materialized (select plan_id, revision from (${selectNewestVersions(isNotSuperseded)}))
    update plan_versions set superseded = 1
    where superseded = 0 and (
      select publication.state in ('conflicted', 'cancelled', 'replaced')
        or publication.revision < (select revision from newest where newest.plan_id = plan_versions.plan_id)
      from publications as publication where publication.id = plan_versions.publication_id
    )`)
}

/** What the schedule has to do. One query. */
export interface DueWork {
  /** The publications whose time has come, in that order. */
  ids: number[]
  /** Whether `deleteLeftovers` or `deleteAbandoned` has something to do. */
  hasLeftovers: boolean
}

export async function selectDueWork(db: Database): Promise<DueWork> {
  const rows = await db.values<[id: number | null]>(sql`
    select id, due_at from publications where state = 'scheduled' and due_at <= unixepoch()
    union all select null, null
    where ${hasLeftovers} or exists (select 1 from publications where ${isAbandoned})
    order by 2, 1`)
  const ids = rows.flatMap(([id]) => id ?? [])
  return { ids, hasLeftovers: ids.length < rows.length }
}

/** Finds what an actor published, when the answer was lost: the publication, or the one that replaces it. */
export async function findPublished(
  db: Database,
  { publicationId: id, actor }: Pick<Decision, 'publicationId' | 'actor'>,
): Promise<Published | undefined> {
  const [row] = await db.values<[publicationId: number, revision: number]>(sql`
    select id, revision from publications
    where revision is not null and (id = ${id} or replaces_id = ${id}) and decided_by = ${actor}`)
  return row && { kind: 'published', publicationId: row[0], revision: row[1] }
}
