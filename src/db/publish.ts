// Decides about a publication with one statement: it inserts an entry into the record, whose triggers check and apply the
// decision (migrations/0003_publications.sql). For the command line and for the Worker's schedule.
import { sql, type SQL } from 'drizzle-orm'
import type { Queries } from './database.ts'
import { hashRecord } from './record-hash.ts'
import { findRefusal, type RefusalCode } from './refusal.ts'
import type { entryKinds } from './schema.ts'

export interface Decision {
  publicationId: number
  kind: (typeof entryKinds)[number]
  actor: string
  note: string | null
  /** Whether the plans are published now. `approved` may leave that to the schedule. */
  isPublishing: boolean
}

/**
 * `conflict`: a plan that it touches was changed since, or the result would contradict itself.
 * `unavailable`: the publication does not exist, or is in another state.
 */
export type DecisionOutcome =
  | { kind: 'made'; revision: number | null }
  | { kind: 'conflict'; reason: string }
  | { kind: 'unavailable' }

const maxAttempts = 20

const conflict = (reason: string): DecisionOutcome => ({ kind: 'conflict', reason })

/** What becomes of a decision that a trigger refuses. `error`: the database is not as this code leaves it. */
const refusals: Record<RefusalCode, DecisionOutcome | 'retry' | 'error'> = {
  entry_order: 'retry',
  revision_order: 'retry',
  publication_state: { kind: 'unavailable' },
  plan_changed: conflict('a plan was changed'),
  identifier_taken: conflict('another plan has an identifier of it'),
  plans_disagree: conflict('a category, plan type, risk level or fund manager was changed'),
  fields_differ: conflict('a field was added to all plans'),
  publication_approval: 'error',
  publication_incomplete: 'error',
  append_only: 'error',
  outdated_command_line: 'error',
  partner_closed: 'error',
  two_live_secrets: 'error',
  secret_fingerprint: 'error',
}

/** The database, for queries and for the statement that decides. */
export interface DecidingQueries {
  read: Queries
  commit: Queries
}

/** Makes a decision about a publication, or nothing. Tries again when another entry came first. */
export async function decide({ read, commit }: DecidingQueries, decision: Decision): Promise<DecisionOutcome> {
  for (let attempt = 1; ; attempt++) {
    const last = await selectLastEntry(read)
    try {
      const [made] = await insertEntry(commit, decision, last)
      return made ? { kind: 'made', revision: made[0] } : { kind: 'unavailable' }
    } catch (error) {
      const code = findRefusal(error)
      const outcome = code === undefined ? undefined : refusals[code]
      if (outcome === 'retry' && attempt < maxAttempts) continue
      if (typeof outcome === 'object') return outcome
      throw error
    }
  }
}

async function insertEntry(db: Queries, decision: Decision, last: RecordedEntry | undefined) {
  const { publicationId, kind, actor, note, isPublishing } = decision
  const [lastId = 0, lastMadeAt = 0] = last ?? []
  // A revision is at least the time in milliseconds. The time is never before the one of the entry before, even if the clock
  // was set back.
  const revision = sql`max(catalog_revision.revision + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
  return db.values<[revision: number | null]>(
    sql`insert into publication_entries (id, publication_id, kind, actor, note, made_at, revision, previous_hash)
      select ${integer(lastId + 1)}, ${integer(publicationId)}, ${kind}, ${actor}, ${note ?? nothing},
        max(unixepoch(), ${integer(lastMadeAt)}), ${isPublishing ? revision : nothing},
        ${last ? await hashRecord(last) : nothing}
      from catalog_revision where catalog_revision.catalog not glob 'restoring *'
      returning revision`,
  )
}

/** The HTTP API takes no null as a parameter. */
const nothing = sql.raw('null')

/** The HTTP API sends numbers as text, and an expression has no affinity. */
function integer(value: number): SQL {
  return sql`cast(${value} as integer)`
}

/** @returns the decision, if it is in the record. */
export async function findDecision(db: Queries, decision: Decision): Promise<DecisionOutcome | undefined> {
  const { publicationId, kind, actor } = decision
  const [found] = await db.values<[revision: number | null]>(
    sql`select revision from publication_entries
      where publication_id = ${publicationId} and kind = ${kind} and actor = ${actor}`,
  )
  return found && { kind: 'made', revision: found[0] }
}

/** An entry with what its hash covers of its publication, which is all but the state. The hash is that of these values. */
export type RecordedEntry = [
  id: number,
  madeAt: number,
  revision: number | null,
  previousHash: string | null,
  publicationId: number,
  plansHash: string | null,
  ...others: (string | number | null)[],
]

/** Selects entries as `RecordedEntry`. */
export const selectRecorded = sql`
  select entry.id, entry.made_at, entry.revision, entry.previous_hash, publication.id, publication.plans_hash,
    entry.kind, entry.actor, entry.note, publication.actor, publication.command, publication.note, publication.created_at,
    publication.base_revision, publication.plan_count, publication.undone_id, publication.due_at,
    publication.needs_approval
  from publication_entries as entry join publications as publication on publication.id = entry.publication_id`

async function selectLastEntry(db: Queries): Promise<RecordedEntry | undefined> {
  const [last] = await db.values<RecordedEntry>(sql`${selectRecorded} order by entry.id desc limit 1`)
  return last
}

/** Selects the publications whose time has come, in that order. */
export async function selectDueIds(db: Queries): Promise<number[]> {
  const rows = await db.values<[number]>(
    sql`select id from publications where state = 'scheduled' and due_at <= unixepoch() order by due_at, id`,
  )
  return rows.map(([id]) => id)
}
