// Publishes publications: each with one UPDATE, which has an effect once. For the command line and for the Worker's schedule.
import { and, eq, inArray, lte, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { assign, type Assignments } from './column-values.ts'
import { orNull, type Database } from './database.ts'
import { mergePending, stageReplacement } from './merge-pending.ts'
import { isNotSuperseded, own, selectNewestVersions } from './plan-queries.ts'
import { pendingStates, planVersions, publications } from './schema.ts'
import { nextNumber } from './record-numbers.ts'

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

const now = sql`unixepoch()`
const candidate = alias(publications, 'candidate')
/** The candidate itself, or the one that it replaces. */
const pending = alias(publications, 'pending')
const later = alias(publications, 'later')
const theirs = alias(planVersions, 'theirs')
const newest = alias(planVersions, 'newest')

/** Whether `pending` may be published. A scheduled one was approved. */
function isReady(mode: PublishMode, actor: string): SQL | undefined {
  const isDue = lte(pending.dueAt, now)
  switch (mode) {
    case 'now':
      return and(eq(pending.state, 'staging'), eq(pending.needsApproval, false))
    case 'due':
      return and(eq(pending.state, 'scheduled'), isDue)
    case 'approve': {
      const isOther = sql`lower(${pending.actor}) <> lower(${actor})`
      return and(eq(pending.state, 'waiting'), isOther, sql`coalesce(${isDue}, 1)`)
    }
  }
}

/** Why a publication does not fit the catalog. */
type Conflict = 'overtaken' | keyof typeof reasons

const reasons = {
  identifier_twice: 'another plan has an identifier of it',
  contradicting: 'others changed a category, plan type, risk level or fund manager',
  other_members: 'its plans have other fields than the catalog',
  incomplete: 'it lacks plans that were staged',
}

/** Removed plans have none. */
const documentsOf = (versions: 'own' | 'others' | 'result') => sql`(
  select ${planVersions.document} from ${sql.identifier(versions)} join ${planVersions} on ${planVersions}.rowid = version
  where ${planVersions.document} is not null
)`

/**
 * The conditions, one row: both for publishing, and for the reason when nothing was published.
 *
 * - Objects with the same ID, such as a category or a fund manager, must be the same in all plans.
 * - All current plans have the same members. A publication that replaces all of them may add one.
 */
function withConditions({ publicationId, actor }: Decision, mode: PublishMode): SQL {
  return sql`
    with ${candidate} as materialized (select * from ${publications} where ${publications.id} = ${publicationId}),
    ${pending} as materialized (
      select * from ${publications}
      where ${publications.id} = (select coalesce(${candidate.replacesId}, ${candidate.id}) from ${candidate})
    ),
    ${own} as materialized (
      select ${planVersions}.rowid as version, ${planVersions.planId} from ${planVersions}
      where ${planVersions.publicationId} = ${publicationId}
    ),
    others as materialized (
      select version from (${selectNewestVersions(isNotSuperseded)}) as ${newest}
      where ${newest.planId} not in (select ${own.planId} from ${own})
    ),
    result as materialized (select version from own union all select version from others),
    conditions as materialized (
      select
        ${isReady(mode, actor)} and (${candidate.id} = ${pending.id} or ${eq(candidate.state, 'staging')}) as is_ready,
        case
          when exists (
            select 1 from ${publications} as ${later} join ${planVersions} as ${theirs} on ${theirs.publicationId} = ${later.id}
            where ${later.revision} > ${candidate.baseRevision} and ${theirs.planId} in (select ${own.planId} from ${own})
          ) then 'overtaken'
          when exists (
            select 1 from ${documentsOf('result')} group by document ->> '$.identifier' having count(*) > 1
          ) then 'identifier_twice'
          when exists (
            select 1 from (select distinct key, value from ${documentsOf('result')}, json_each(document) where type = 'object')
            where value ->> '$.id' is not null group by key, value ->> '$.id' having count(*) > 1
          ) then 'contradicting'
          when 1 < (
            select count(distinct (select group_concat(key) from json_each(document))) from (
              select document from ${documentsOf('own')}
              union all select * from (select document from ${documentsOf('others')} limit 1)
            )
          ) then 'other_members'
          when ${candidate.planCount} <> (select count(*) from ${own}) then 'incomplete'
        end as conflict
      from ${candidate} cross join ${pending}
    )`
}

/** The columns that say who approved a publication. */
export function approve({ actor, note }: Decision): Assignments<typeof publications> {
  return { approvedBy: actor, approvedAt: now, approvedNote: orNull(note) }
}

/** The columns that say who published or ended a publication. */
export function decide({ actor, note }: Decision): Assignments<typeof publications> {
  return { decidedBy: actor, decidedAt: now, decidedNote: orNull(note) }
}

/**
 * Publishes all of a publication or nothing. A publication that replaces a pending one ends that one with the same statement.
 * The conditions don't depend on the row that is updated, so both rows change or none.
 */
export async function publish(db: Database, decision: Decision, mode: PublishMode): Promise<PublishOutcome> {
  const { publicationId } = decision
  const isCandidate = eq(publications.id, publicationId)
  const changes = {
    state: sql`iif(${isCandidate}, 'published', 'replaced')`,
    revision: sql`iif(${isCandidate}, ${nextNumber(publications.revision)}, null)`,
    ...(mode === 'approve' && approve(decision)),
    ...decide(decision),
  }
  const rows = await db.values<[revision: number | null]>(sql`
    ${withConditions(decision, mode)}
    update ${publications} set ${assign(publications, changes)}
    where ${publications.id} in (select ${candidate.id} from ${candidate} union select ${pending.id} from ${pending})
      and (select is_ready and conflict is null from conditions)
    returning ${publications.revision}`)
  const published = rows.find((row) => row[0] !== null)
  if (published?.[0] != null) return { kind: 'published', publicationId, revision: published[0] }
  const { isReadyNow, conflict } = await explain(db, decision, mode)
  if (!isReadyNow || conflict === null) return { kind: 'unavailable' }
  return conflict === 'overtaken' ? { kind: 'overtaken' } : { kind: 'conflict', reason: reasons[conflict] }
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
  const [[isReadyNow, conflict] = [0, null]] = await db.values<[isReadyNow: number, Conflict | null]>(sql`
    ${withConditions(decision, mode)} select is_ready, conflict from conditions`)
  return { isReadyNow: isReadyNow === 1, conflict }
}

/** Tells why a pending publication could not be published now, at its time or before; undefined when it could. */
export async function findConflict(db: Database, publicationId: number): Promise<string | undefined> {
  const { conflict } = await explain(db, { publicationId, actor: '', note: null }, 'due')
  if (conflict === null) return undefined
  if (conflict !== 'overtaken') return reasons[conflict]
  const merge = await mergePending(db, publicationId)
  return 'conflict' in merge ? merge.conflict : undefined
}

/** Ends a pending publication with a conflict. @returns whether it could. */
export async function endAsConflicted(db: Database, decision: Decision, conflict: string): Promise<boolean> {
  const { id, state } = publications
  const ended = await db.values(sql`
    update ${publications} set ${assign(publications, { state: 'conflicted', conflict, ...decide(decision) })}
    where ${and(eq(id, decision.publicationId), inArray(state, pendingStates))} returning ${id}`)
  return ended.length > 0
}

/**
 * Marks versions that are not current, and never will be: older ones, and those of publications that ended. It may run late, or
 * twice: it only saves reading.
 */
export async function markSuperseded(db: Database): Promise<void> {
  const made = alias(publications, 'made')
  await db.run(sql`
    with newest as materialized (select plan_id, revision from (${selectNewestVersions(isNotSuperseded)}))
    update ${planVersions} set ${assign(planVersions, { superseded: true })}
    where ${isNotSuperseded} and (
      select ${inArray(made.state, ['conflicted', 'cancelled', 'replaced'])}
        or ${made.revision} < (select revision from newest where ${newest.planId} = ${planVersions.planId})
      from ${publications} as ${made} where ${made.id} = ${planVersions.publicationId}
    )`)
}

/** Selects the publications whose time has come, in that order. */
export async function selectDue(db: Database): Promise<number[]> {
  const { id, state, dueAt } = publications
  const rows = await db.values<[id: number]>(sql`
    select ${id} from ${publications} where ${and(eq(state, 'scheduled'), lte(dueAt, now))} order by ${dueAt}, ${id}`)
  return rows.map(([due]) => due)
}
