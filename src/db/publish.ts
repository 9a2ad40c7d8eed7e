// Publishes and ends publications: each with one UPDATE, which has an effect once. For the command line and for the Worker's
// schedule.
import { sql, type SQL } from 'drizzle-orm'
import { orNull, type Database } from './database.ts'
import { mergePending, stageReplacement } from './merge-pending.ts'
import { isNotSuperseded, newestRevision, selectNewestVersions } from './plan-queries.ts'

/** Who decides about a publication. */
export interface Decision {
  publicationId: number
  actor: string
  note: string | null
}

/** `now`: its author publishes it. `due`: the schedule, at its time. `approve`: another operator approves it, and it is due. */
export type PublishMode = 'now' | 'due' | 'approve'

/**
 * `overtaken`: others changed its plans since. `conflict`: the catalog does not allow it. `unavailable`: there is no such
 * publication, or it is in another state.
 */
export type PublishOutcome =
  | { kind: 'published'; publicationId: number; revision: number }
  | { kind: 'conflict'; reason: string }
  | { kind: 'overtaken' | 'unavailable' }

/** Whether `pending` may be published: the publication itself, or the one that it replaces. A scheduled one was approved. */
function isReady(mode: PublishMode, actor: string): SQL {
  return {
    now: sql`pending.state = 'staging' and pending.needs_approval = 0`,
    due: sql`pending.state = 'scheduled' and pending.due_at <= unixepoch()`,
    approve: sql`pending.state = 'waiting' and lower(pending.actor) <> lower(${actor})
      and coalesce(pending.due_at <= unixepoch(), 1)`,
  }[mode]
}

const conflicts = {
  is_overtaken: 'others changed its plans',
  has_identifier_twice: 'another plan has an identifier of it',
  is_contradicting: 'others changed a category, plan type, risk level or fund manager',
  has_other_members: 'its plans have other fields than the catalog',
  is_incomplete: 'it lacks plans that were staged',
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
        candidate.plan_count <> (select count(*) from own) as is_incomplete,
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

const approved = ({ actor, note }: Decision) =>
  sql`approved_by = ${actor}, approved_at = unixepoch(), approved_note = ${orNull(note)}`
const decided = ({ actor, note }: Decision) =>
  sql`decided_by = ${actor}, decided_at = unixepoch(), decided_note = ${orNull(note)}`

/**
 * Publishes all of a publication or nothing. A publication that replaces a pending one ends that one with the same statement.
 * The conditions don't depend on the row that is updated, so both rows change or none.
 */
export async function publish(db: Database, decision: Decision, mode: PublishMode): Promise<PublishOutcome> {
  const { publicationId } = decision
  const isCandidate = sql`id = ${publicationId}`
  // At least the time in milliseconds, also when the clock was set back.
  const revision = sql`max(${newestRevision} + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
  const rows = await db.values<[revision: number | null]>(sql`
    ${withConditions(decision, mode)}
    update publications set
      state = iif(${isCandidate}, 'published', 'replaced'), revision = iif(${isCandidate}, ${revision}, null),
      ${mode === 'approve' ? sql`${approved(decision)},` : sql.empty()} ${decided(decision)}
    where id in (select id from candidate union select id from pending) and (
      select is_ready and not (${sql.raw(Object.keys(conflicts).join(' or '))}) from conditions
    )
    returning revision`)
  const published = rows.find((row) => row[0] !== null)
  if (published?.[0] != null) return { kind: 'published', publicationId, revision: published[0] }
  const { isReadyNow, reason } = await explain(db, decision, mode)
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
  return publish(db, { ...decision, publicationId: id }, mode)
}

/** Tells why nothing was published. */
async function explain(db: Database, decision: Decision, mode: PublishMode) {
  const [[isReadyNow, ...found] = []] = await db.values<number[]>(sql`
    ${withConditions(decision, mode)}
    select is_ready, ${sql.raw(Object.keys(conflicts).join(', '))} from conditions`)
  return { isReadyNow, reason: Object.values(conflicts)[found.findIndex(Boolean)] }
}

/** Tells why a pending publication could not be published now, at its time or before; undefined when it could. */
export async function findConflict(db: Database, publicationId: number): Promise<string | undefined> {
  const { reason } = await explain(db, { publicationId, actor: '', note: null }, 'due')
  if (reason !== conflicts.is_overtaken) return reason
  const merge = await mergePending(db, publicationId)
  return 'conflict' in merge ? merge.conflict : undefined
}

/** Lets a staged publication wait. @returns whether it could: it, or some of its plans, may have been deleted meanwhile. */
export function releasePublication(db: Database, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  const isComplete = sql`plan_count = (select count(*) from plan_versions where publication_id = ${id})`
  return update(db, id, sql`state = ${state}`, sql`state = 'staging' and ${isComplete}`)
}

/** Approves a publication that is due later. @returns false when it does not wait, is due, or is by the same actor. */
export function approveForLater(db: Database, decision: Decision): Promise<boolean> {
  const isForLater = sql`state = 'waiting' and lower(actor) <> lower(${decision.actor}) and due_at > unixepoch()`
  return update(db, decision.publicationId, sql`state = 'scheduled', ${approved(decision)}`, isForLater)
}

/** Ends a pending publication: cancelled, or with a conflict. A conflicted one can be cancelled, too. @returns whether it could. */
export function endPublication(db: Database, decision: Decision, conflict?: string): Promise<boolean> {
  const isPending = sql`state in ('waiting', 'scheduled')`
  const [end, isOpen] =
    conflict === undefined
      ? [sql`state = 'cancelled'`, sql`(${isPending} or state = 'conflicted')`]
      : [sql`state = 'conflicted', conflict = ${conflict}`, isPending]
  return update(db, decision.publicationId, sql`${end}, ${decided(decision)}`, isOpen)
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

/** Selects the publications whose time has come, in that order. */
export async function selectDue(db: Database): Promise<number[]> {
  const rows = await db.values<[id: number]>(
    sql`select id from publications where state = 'scheduled' and due_at <= unixepoch() order by due_at, id`,
  )
  return rows.map(([id]) => id)
}
