// Publishes publications: each with one UPDATE, which has an effect once. For the command line and for the Worker's schedule.
import { and, eq, inArray, lte, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { assign, type Assignments } from './column-values.ts'
import { listOf, orNull, type Database } from './database.ts'
import { findMergeConflicts, mergePending, stageReplacement } from './merge-pending.ts'
import { isNotSuperseded, selectNewestVersions } from './plan-queries.ts'
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
const mine = alias(planVersions, 'mine')

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

export const otherFields = 'its plans have other fields than the catalog'

const reasons = {
  identifier_twice: 'another plan has an identifier of it',
  contradicting: 'others changed a category, plan type, risk level or fund manager',
  other_members: otherFields,
  incomplete: 'it lacks plans that were staged',
}

/** Whether a version has a candidate's plan: then it is the one that the candidate replaces. */
const isReplaced = (publicationId: SQLWrapper, planId: SQLWrapper) => sql`exists (
  select 1 from ${planVersions} as ${mine} where ${mine.publicationId} = ${publicationId} and ${mine.planId} = ${planId}
)`

/**
 * Selects what plans must agree on: whose an identifier is, and what an object is that has an ID, such as a category. Another object
 * has a null in its place.
 */
const selectClaims = (versions: SQL) => sql`
  select versions.publication_id, versions.plan_id, key as field,
    case type when 'object' then value ->> '$.id' else value end as id,
    case type when 'object' then value else versions.plan_id end as claim
  from ${versions} as versions join ${planVersions} on ${planVersions}.rowid = version, json_each(document)
  where type = 'object' or key = 'identifier'`

/**
 * The conditions, a row for each candidate: both for publishing, and for the reason when nothing was published.
 *
 * - The plans of the catalog agree, so the claims of a candidate are compared with each other, and with those of the plans that stay.
 * - All current plans have the same members. A publication that replaces all of them may add one.
 */
function withConditions(isCandidate: SQL, mode: PublishMode, actor: string): SQL {
  return sql`
    with ${candidate} as materialized (select * from ${publications} where ${isCandidate}),
    own as materialized (
      select ${planVersions.publicationId}, ${planVersions.planId}, ${planVersions}.rowid as version from ${planVersions}
      where ${planVersions.publicationId} in (select ${candidate.id} from ${candidate})
    ),
    current as materialized (
      select null as publication_id, plan_id, version, revision from (${selectNewestVersions(isNotSuperseded)})
    ),
    kept as materialized (
      select * from current where plan_id not in (
        select plan_id from own group by plan_id having count(*) = (select count(*) from ${candidate})
      )
    ),
    overtaken as materialized (
      select own.publication_id, count(*) as plans
      from own join current on current.plan_id = own.plan_id join ${candidate} on ${candidate.id} = own.publication_id
      where current.revision > ${candidate.baseRevision} group by own.publication_id
    ),
    claims as materialized (
      select distinct publication_id, field, id, claim from (${selectClaims(sql`own`)}) where id is not null
    ),
    disputes as materialized (
      select publication_id, max(field = 'identifier') as is_of_identifier from (
        select publication_id, field from claims group by publication_id, field, id
        having count(*) > 1
        union all
        select claims.publication_id, claims.field from (${selectClaims(sql`kept`)}) as others
        join claims on claims.field = others.field and claims.id = others.id and claims.claim <> others.claim
        where not ${isReplaced(sql`claims.publication_id`, sql`others.plan_id`)}
      ) group by publication_id
    ),
    conditions as materialized (
      select ${candidate.id}, coalesce(overtaken.plans, 0) as overtaken_plans,
        ${isReady(mode, actor)} and (${candidate.id} = ${pending.id} or ${eq(candidate.state, 'staging')}) as is_ready,
        case
          when overtaken.plans > 0 then 'overtaken'
          when disputes.is_of_identifier then 'identifier_twice'
          when disputes.publication_id is not null then 'contradicting'
          when 1 < (
            select count(distinct (select group_concat(key) from json_each(document))) from (
              select ${mine.document} as document from ${planVersions} as ${mine} where ${mine.publicationId} = ${candidate.id}
              union all select * from (
                select ${planVersions.document} from current join ${planVersions} on ${planVersions}.rowid = version
                where ${planVersions.document} is not null and not ${isReplaced(candidate.id, sql`current.plan_id`)} limit 1
              )
            ) where document is not null
          ) then 'other_members'
          when ${candidate.planCount} <> (
            select count(*) from ${planVersions} as ${mine} where ${mine.publicationId} = ${candidate.id}
          ) then 'incomplete'
        end as conflict
      from ${candidate} join ${publications} as ${pending} on ${pending.id} = coalesce(${candidate.replacesId}, ${candidate.id})
      left join overtaken on overtaken.publication_id = ${candidate.id}
      left join disputes on disputes.publication_id = ${candidate.id}
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
  const { publicationId, actor } = decision
  const isCandidate = eq(publications.id, publicationId)
  const changes = {
    state: sql`iif(${isCandidate}, 'published', 'replaced')`,
    revision: sql`iif(${isCandidate}, ${nextNumber(publications.revision)}, null)`,
    ...(mode === 'approve' && approve(decision)),
    ...decide(decision),
  }
  const rows = await db.values<[revision: number | null]>(sql`
    ${withConditions(isCandidate, mode, actor)}
    update ${publications} set ${assign(publications, changes)}
    where ${publications.id} in (
        select ${candidate.id} from ${candidate} union select ${candidate.replacesId} from ${candidate}
      )
      and (select is_ready and conflict is null from conditions)
    returning ${publications.revision}`)
  const published = rows.find((row) => row[0] !== null)
  if (published?.[0] != null) return { kind: 'published', publicationId, revision: published[0] }
  const [[isReadyNow, conflict] = [0, null]] = await db.values<[isReadyNow: number, Conflict | null]>(sql`
    ${withConditions(isCandidate, mode, actor)} select is_ready, conflict from conditions`)
  if (isReadyNow !== 1 || conflict === null) return { kind: 'unavailable' }
  return conflict === 'overtaken' ? { kind: 'overtaken' } : { kind: 'conflict', reason: reasons[conflict] }
}

/**
 * Publishes a pending publication. When others changed its plans since, it is staged again, merged with that, and published as the
 * new row.
 * @returns `overtaken` when another publication came between, or it may not be merged: try again.
 */
export async function publishPending(
  db: Database,
  decision: Decision,
  mode: 'due' | 'approve',
  mayMerge = true,
): Promise<PublishOutcome> {
  const outcome = await publish(db, decision, mode)
  if (outcome.kind !== 'overtaken' || !mayMerge) return outcome
  const merge = await mergePending(db, decision.publicationId)
  if ('conflict' in merge) return { kind: 'conflict', reason: merge.conflict }
  const id = await stageReplacement(db, decision.publicationId, merge)
  return publish(db, { ...decision, publicationId: id }, mode)
}

/**
 * Tells why pending publications could not be published now, at their time or before.
 * @returns the reasons by ID: none for one that could.
 */
export async function findConflicts(db: Database, publicationIds: readonly number[]): Promise<Map<number, string>> {
  if (publicationIds.length === 0) return new Map()
  const rows = await db.values<[id: number, conflict: Conflict, overtakenPlans: number]>(sql`
    ${withConditions(inArray(publications.id, listOf(publicationIds)), 'due', '')}
    select id, conflict, overtaken_plans from conditions where conflict is not null`)
  const overtaken = rows.filter(([, conflict]) => conflict === 'overtaken')
  const unmergeable = await findMergeConflicts(db, new Map(overtaken.map(([id, , plans]) => [id, plans])))
  return new Map([
    ...rows.flatMap(([id, conflict]): [number, string][] =>
      conflict === 'overtaken' ? [] : [[id, reasons[conflict]]],
    ),
    ...unmergeable,
  ])
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
        or ${made.revision} < (select revision from newest where newest.plan_id = ${planVersions.planId})
      from ${publications} as ${made} where ${made.id} = ${planVersions.publicationId}
    )`)
}

/** Selects the publications whose time has come, in that order. */
export async function selectDue(db: Database): Promise<{ id: number; planCount: number }[]> {
  const { id, state, dueAt, planCount } = publications
  const rows = await db.values<[id: number, planCount: number]>(sql`
    select ${id}, ${planCount} from ${publications} where ${and(eq(state, 'scheduled'), lte(dueAt, now))} order by ${dueAt}, ${id}`)
  return rows.map(([due, plans]) => ({ id: due, planCount: plans }))
}
