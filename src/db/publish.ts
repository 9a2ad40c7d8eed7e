// Publishes a publication by one UPDATE, which has an effect only once. The command line and the Worker's schedule call it.
import { and, eq, inArray, lte, ne, or, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { writeAssignments, type Assignments } from './column-values.ts'
import { writeNullable, type Database } from './database.ts'
import { isComplete, isNotSuperseded, newestRevision, selectNewestVersions } from './plan-queries.ts'
import { compareAndMerge, comparePublication, type Compared, type Comparison } from './rebase.ts'
import { computeNextNumber } from './record-numbers.ts'
import { pendingStates, planVersions, publications } from './schema.ts'

/** Somebody's decision about a publication: to publish, approve, cancel or end it. */
export interface Decision {
  publicationId: number
  actor: string
  note: string | null
}

/**
 * Who publishes a publication, and when. `now`: its author, at once. `due`: the schedule, at its time. `approve`: another operator, who
 * approves it when its time has come or it has none.
 */
export type PublishMode = 'now' | PendingMode
export type PendingMode = 'due' | 'approve'

const now = sql`unixepoch()`

/** Writes the condition that a publication may be published now. If it needs approval, it is scheduled only after its approval. */
function isReady(mode: PublishMode, actor: string): SQL | undefined {
  const { state, needsApproval, dueAt } = publications
  switch (mode) {
    case 'now':
      return and(eq(state, 'staging'), eq(needsApproval, false))
    case 'due':
      return and(eq(state, 'scheduled'), lte(dueAt, now))
    case 'approve': {
      const isOther = sql`lower(${publications.actor}) <> lower(${actor})`
      return and(eq(state, 'waiting'), isOther, sql`coalesce(${lte(dueAt, now)}, 1)`)
    }
  }
}

/** Writes the condition that nothing was published after a revision. */
export const isNewestRevision = (revision: number) => sql`${newestRevision} = cast(${revision} as integer)`

/** The columns that say who approved a publication. */
export function assignApproval({ actor, note }: Decision): Assignments<typeof publications> {
  return { approvedBy: actor, approvedAt: now, approvedNote: writeNullable(note) }
}

/** The columns that say who published or ended a publication. */
export function assignDecision({ actor, note }: Decision): Assignments<typeof publications> {
  return { decidedBy: actor, decidedAt: now, decidedNote: writeNullable(note) }
}

/**
 * Publishes all plans of a publication or none: only if nothing was published since the comparison, and if all plans are there.
 * @returns the new revision of the catalog; undefined when nothing was published.
 */
export async function publish(
  db: Database,
  decision: Decision,
  mode: PublishMode,
  { baseRevision, comparedRevision }: Pick<Compared, 'baseRevision' | 'comparedRevision'>,
): Promise<number | undefined> {
  const { publicationId, actor } = decision
  const changes = {
    state: 'published' as const,
    baseRevision,
    revision: computeNextNumber(publications.revision),
    ...(mode === 'approve' && assignApproval(decision)),
    ...assignDecision(decision),
  }
  const isWhole = isComplete(sql`${baseRevision}`)
  const condition = and(isReady(mode, actor), isNewestRevision(comparedRevision), isWhole)
  const row = await updatePublication(db, publicationId, changes, condition)
  return row?.[0] ?? undefined
}

/** Changes a publication if a condition holds. @returns a row with its revision; undefined when nothing was changed. */
export async function updatePublication(
  db: Database,
  publicationId: number,
  changes: Assignments<typeof publications>,
  condition: SQL | undefined,
): Promise<[revision: number | null] | undefined> {
  const [row] = await db.values<[number | null]>(sql`
    update ${publications} set ${writeAssignments(publications, changes)} where ${and(eq(publications.id, publicationId), condition)}
    returning ${publications.revision}`)
  return row
}

export const maxAttempts = 10

/** Why a publication was not published. `overtaken`: others published again and again while it was compared. */
export type Refusal = Exclude<Comparison, Compared> | { kind: 'overtaken' }

/** Compares a staged publication with the catalog. Changes nothing. */
export function compareStaged(db: Database, publicationId: number): Promise<Comparison> {
  return comparePublication(db, publicationId, eq(publications.state, 'staging'))
}

/**
 * Merges a pending publication with later changes by others, then publishes it. Starts again when others published in between.
 * @param publishOnce calls `publish`.
 * @returns its result, or why the publication was not published.
 */
export async function publishPending<Result>(
  db: Database,
  { publicationId, actor }: Decision,
  mode: PendingMode,
  publishOnce: (compared: Compared) => Promise<Result | undefined>,
): Promise<{ kind: 'published'; result: Result } | Refusal> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const compared = await compareAndMerge(db, publicationId, isReady(mode, actor))
    if (compared.kind !== 'fits') return compared
    const result = await publishOnce(compared)
    if (result !== undefined) return { kind: 'published', result }
  }
  return { kind: 'overtaken' }
}

/** Ends a pending publication with a conflict. @returns false when the publication is not pending. */
export async function endAsConflicted(db: Database, decision: Decision, conflict: string): Promise<boolean> {
  const changes = { state: 'conflicted' as const, conflict, ...assignDecision(decision) }
  const isPending = inArray(publications.state, pendingStates)
  return (await updatePublication(db, decision.publicationId, changes, isPending)) !== undefined
}

/**
 * Marks versions that will never be the newest of their plan: older ones, and those of publications that ended, or that were published with
 * another base. The mark only saves reading: the statement may run late, or twice.
 */
export async function flagSupersededVersions(db: Database): Promise<void> {
  const made = alias(publications, 'made')
  const isOlder = sql`${made.revision} < (select revision from newest where newest.plan_id = ${planVersions.planId})`
  const isOtherBase = and(eq(made.state, 'published'), ne(made.baseRevision, planVersions.baseRevision))
  await db.run(sql`
    with newest as materialized (select plan_id, revision from (${selectNewestVersions(isNotSuperseded)}))
    update ${planVersions} set ${writeAssignments(planVersions, { superseded: true })}
    where ${isNotSuperseded} and (
      select ${or(inArray(made.state, ['conflicted', 'cancelled']), isOlder, isOtherBase)}
      from ${publications} as ${made} where ${made.id} = ${planVersions.publicationId}
    )`)
}

/** Selects the IDs of the scheduled publications whose time has come, in the order of their times. */
export async function selectDuePublications(db: Database): Promise<number[]> {
  const { id, state, dueAt } = publications
  const rows = await db.values<[id: number]>(sql`
    select ${id} from ${publications} where ${and(eq(state, 'scheduled'), lte(dueAt, now))} order by ${dueAt}, ${id}`)
  return rows.map(([due]) => due)
}
