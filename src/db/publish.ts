// Publishes a publication by one UPDATE, which has an effect only once. The command line and the Worker's schedule call it.
import { and, eq, inArray, isNull, lte, ne, or, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { writeAssignments, type Assignments } from './column-values.ts'
import type { Database } from './database.ts'
import { isComplete, isNotSuperseded, newestRevision, selectNewestVersions } from './plan-queries.ts'
import { compareAndMerge, comparePublication, type Fit, type Comparison } from './rebase.ts'
import { computeNextNumber } from './record-numbers.ts'
import { pendingStates, planVersions, publications } from './schema.ts'

/** Somebody's decision about a publication: to publish it, approve it, cancel it or end it as conflicted. */
export interface Decision {
  publicationId: number
  actor: string
  note: string | null
}

/**
 * Says who publishes a publication, and when.
 * - `now`: the author, at once.
 * - `due`: the schedule, when the time of the publication has come.
 * - `approve`: another operator, by an approval. The time of the publication has come, or it has no time.
 */
export type PublishMode = 'now' | PendingMode
export type PendingMode = 'due' | 'approve'

const now = sql`unixepoch()`

/** Writes the condition that a publication may be published now. A publication in the state `scheduled` was approved, or needs no approval. */
function isReady(mode: PublishMode, actor: string): SQL | undefined {
  const { state, needsApproval, dueAt } = publications
  switch (mode) {
    case 'now':
      return and(eq(state, 'staging'), eq(needsApproval, false))
    case 'due':
      return and(eq(state, 'scheduled'), lte(dueAt, now))
    case 'approve': {
      const isByOther = sql`lower(${publications.actor}) <> lower(${actor})`
      return and(eq(state, 'waiting'), isByOther, or(isNull(dueAt), lte(dueAt, now)))
    }
  }
}

/** Writes the condition that nothing was published after a revision. Casts, because the HTTP API passes numbers as text. */
export const isNewestRevision = (revision: number) => sql`${newestRevision} = cast(${revision} as integer)`

export function makeApprovalValues({ actor, note }: Decision): Assignments<typeof publications> {
  return { approvedBy: actor, approvedAt: now, approvedNote: note }
}

export function makeDecisionValues({ actor, note }: Decision): Assignments<typeof publications> {
  return { decidedBy: actor, decidedAt: now, decidedNote: note }
}

/**
 * Publishes a publication, with its plans of the base `baseRevision`.
 * @returns the new revision; undefined if others published since the comparison, a plan is missing, or the publication is not ready (`isReady`).
 */
export async function publishIfNewest(
  db: Database,
  decision: Decision,
  mode: PublishMode,
  { baseRevision, comparedRevision }: Pick<Fit, 'baseRevision' | 'comparedRevision'>,
): Promise<number | undefined> {
  const { publicationId, actor } = decision
  const changes = {
    state: 'published' as const,
    baseRevision,
    revision: computeNextNumber(publications.revision),
    ...(mode === 'approve' && makeApprovalValues(decision)),
    ...makeDecisionValues(decision),
  }
  const condition = and(isReady(mode, actor), isNewestRevision(comparedRevision), isComplete(sql`${baseRevision}`))
  const update = await updatePublicationIf(db, publicationId, changes, condition)
  return update?.revision ?? undefined
}

/** Changes a publication if it fulfils a condition. @returns undefined if nothing changed. `revision` is null unless `changes` publish it. */
export async function updatePublicationIf(
  db: Database,
  publicationId: number,
  changes: Assignments<typeof publications>,
  condition: SQL | undefined,
): Promise<{ revision: number | null } | undefined> {
  const [row] = await db.values<[number | null]>(sql`
    update ${publications} set ${writeAssignments(publications, changes)} where ${and(eq(publications.id, publicationId), condition)}
    returning ${publications.revision}`)
  return row && { revision: row[0] }
}

/** The number of attempts to publish, because others may publish during each attempt. */
export const maxAttempts = 10

/** The reason why a publication was not published. `overtaken`: others published during each comparison. */
export type Refusal = Exclude<Comparison, Fit> | { kind: 'overtaken' }

/** Compares a staged publication, and writes nothing. The result is `unavailable` if the publication is not staged any more. */
export function compareStaged(db: Database, publicationId: number): Promise<Comparison> {
  return comparePublication(db, publicationId, eq(publications.state, 'staging'))
}

/**
 * Merges a pending publication with later changes by others, and publishes it.
 * @param publishOnce calls `publishIfNewest`. Its result undefined starts the merge again. Any other result ends the attempts.
 * @returns the last result of `publishOnce`, or the reason why no attempt had a result.
 */
export async function publishPending<Result>(
  db: Database,
  { publicationId, actor }: Decision,
  mode: PendingMode,
  publishOnce: (comparison: Fit) => Promise<Result | undefined>,
): Promise<Result | Refusal> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const comparison = await compareAndMerge(db, publicationId, isReady(mode, actor))
    if (comparison.kind !== 'fits') return comparison
    const result = await publishOnce(comparison)
    if (result !== undefined) return result
  }
  return { kind: 'overtaken' }
}

/** Ends a pending publication. @param conflict the reason, for operators. @returns false when the publication is not pending any more. */
export async function endAsConflicted(db: Database, decision: Decision, conflict: string): Promise<boolean> {
  const changes = { state: 'conflicted' as const, conflict, ...makeDecisionValues(decision) }
  const isPending = inArray(publications.state, pendingStates)
  return (await updatePublicationIf(db, decision.publicationId, changes, isPending)) !== undefined
}

/**
 * Flags the versions that will never be the newest version of their plan: an older version, a version of a publication that was cancelled
 * or conflicted, and a version with another base than its publication was published with. Queries skip flagged versions, and return
 * the same without the flags, only slower: so this may run late, or twice.
 */
export async function flagSupersededVersions(db: Database): Promise<void> {
  const owner = alias(publications, 'owner')
  const isOlder = sql`${owner.revision} < (select revision from newest where newest.plan_id = ${planVersions.planId})`
  const hasOtherBase = and(eq(owner.state, 'published'), ne(owner.baseRevision, planVersions.baseRevision))
  await db.run(sql`
    with newest as materialized (select plan_id, revision from (${selectNewestVersions(isNotSuperseded)}))
    update ${planVersions} set ${writeAssignments(planVersions, { superseded: true })}
    where ${isNotSuperseded} and (
      select ${or(inArray(owner.state, ['conflicted', 'cancelled']), isOlder, hasOtherBase)}
      from ${publications} as ${owner} where ${owner.id} = ${planVersions.publicationId}
    )`)
}

/** Selects the IDs of the scheduled publications whose time has come, the earliest time first. */
export async function selectDuePublications(db: Database): Promise<number[]> {
  const { id, state, dueAt } = publications
  const rows = await db.values<[id: number]>(sql`
    select ${id} from ${publications} where ${and(eq(state, 'scheduled'), lte(dueAt, now))} order by ${dueAt}, ${id}`)
  return rows.map(([dueId]) => dueId)
}
