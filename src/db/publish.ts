// Publishes a staged publication with one statement (migrations/0005_publications.sql). For the command line and for the
// Worker's schedule.
import { and, asc, desc, eq, inArray, isNotNull, lte, sql, type InferSelectModel } from 'drizzle-orm'
import { catalogRevision, publications } from './schema.ts'
import { isCausedBy, type Database } from './database.ts'
import { hashRecord } from './record-hash.ts'
import { nextRevision } from './revision.ts'

export type PublicationRow = InferSelectModel<typeof publications>

/**
 * `conflict`: a plan that it touches was changed since, or the result would contradict itself.
 * `unavailable`: it does not exist, or was published or ended before.
 */
export type PublishOutcome =
  | { kind: 'published'; revision: number }
  | { kind: 'conflict'; reason: string }
  | { kind: 'unavailable' }

export interface Approval {
  actor: string
  note: string | null
}

const maxAttempts = 20

/**
 * Publishes all plans of a publication, or none. Computes the hash of the publication before it, and tries again when
 * another one was published meanwhile.
 * @param approval of the operator who approves it; undefined if it needs no approval.
 */
export async function publish(db: Database, id: number, approval?: Approval): Promise<PublishOutcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [published] = await updateToPublished(db, id, approval)
      return published ? { kind: 'published', ...published } : { kind: 'unavailable' }
    } catch (error) {
      if (isCausedBy(error, 'publication order') && attempt < maxAttempts) continue
      if (isCausedBy(error, 'publication conflict')) return { kind: 'conflict', reason: findConflictReason(error) }
      if (isCausedBy(error, 'constraint failed')) return { kind: 'conflict', reason: 'its result became invalid' }
      // The answer may be lost: the row says what happened.
      const revision = await selectPublishedRevision(db, id).catch(() => null)
      if (revision === null) throw error
      return { kind: 'published', revision }
    }
  }
}

async function updateToPublished(db: Database, id: number, approval: Approval | undefined) {
  const [previous] = await db
    .select()
    .from(publications)
    .where(isNotNull(publications.revision))
    .orderBy(desc(publications.revision))
    .limit(1)
  const rows = await db
    .update(publications)
    .set({
      state: 'published',
      // Never before the publication before, even if the clock was set back.
      publishedAt: sql`max(unixepoch(), ${previous?.publishedAt ?? 0} + 0)`,
      revision: sql`(select ${nextRevision} from ${catalogRevision})`,
      ...(previous && { previousId: previous.id, previousHash: await hashPublication(previous) }),
      ...(approval && toApprovalColumns(approval)),
    })
    .where(and(eq(publications.id, id), inArray(publications.state, ['staging', 'waiting', 'scheduled'])))
    .returning({ revision: publications.revision })
  return rows.flatMap(({ revision }) => (revision === null ? [] : [{ revision }]))
}

export function toApprovalColumns({ actor, note }: Approval) {
  return { approvedBy: actor, approvedAt: sql`unixepoch()`, approvalNote: note ?? sql`null` }
}

async function selectPublishedRevision(db: Database, id: number): Promise<number | null> {
  const [row] = await db.select({ revision: publications.revision }).from(publications).where(eq(publications.id, id))
  return row?.revision ?? null
}

/** The text after `publication conflict: ` (see the migration). */
function findConflictReason(error: unknown): string {
  if (!(error instanceof Error)) return 'it conflicts'
  const [, reason] = /publication conflict: ([\w ,]+)/.exec(error.message) ?? []
  return reason ?? findConflictReason(error.cause)
}

/** The SHA-256 of everything about a published publication that never changes later. */
export function hashPublication(row: PublicationRow): Promise<string> {
  return hashRecord([
    row.id,
    row.actor,
    row.command,
    row.note,
    row.createdAt,
    row.baseRevision,
    row.planCount,
    row.plansHash,
    row.undoneId,
    row.dueAt,
    Number(row.needsApproval),
    row.approvedBy,
    row.approvedAt,
    row.approvalNote,
    row.publishedAt,
    row.revision,
    row.previousId,
    row.previousHash,
    row.prunesBefore,
  ])
}

/** Selects the publications whose time has come, in that order. */
export async function selectDueIds(db: Database): Promise<number[]> {
  const rows = await db
    .select({ id: publications.id })
    .from(publications)
    .where(and(eq(publications.state, 'scheduled'), lte(publications.dueAt, sql`unixepoch()`)))
    .orderBy(asc(publications.dueAt), asc(publications.id))
  return rows.map(({ id }) => id)
}

/**
 * Ends a publication that was not published. A conflicted one can still be cancelled: it has been dealt with.
 * @returns whether the publication could end that way.
 */
export async function endPublication(
  db: Database,
  id: number,
  state: 'conflicted' | 'cancelled' | 'rejected',
  { endedBy, endNote }: { endedBy: string; endNote: string | null },
): Promise<boolean> {
  const endableStates: PublicationRow['state'][] = ['waiting', 'scheduled']
  if (state === 'cancelled') endableStates.push('conflicted')
  const rows = await db
    .update(publications)
    .set({
      state,
      endedBy,
      endNote: sql`nullif(concat_ws('; ', end_note, ${endNote ?? sql`null`}), '')`,
      endedAt: sql`unixepoch()`,
    })
    .where(and(eq(publications.id, id), inArray(publications.state, endableStates)))
    .returning({ id: publications.id })
  return rows.length > 0
}
