// The columns of the tables, for queries. migrations/*.sql creates and explains the tables, and also has the indexes, and the keys of
// several columns. The migration is written by hand, because drizzle-kit knows no STRICT tables and drops comments.
// test/db/schema.test.ts compares both.
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const catalog = sqliteTable('catalog', {
  id: integer('id').primaryKey(),
  name: text('name').notNull(),
})

const states = ['staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled'] as const

export const publications = sqliteTable('publications', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  state: text('state', { enum: states }).notNull(),
  actor: text('actor').notNull(),
  command: text('command').notNull(),
  note: text('note'),
  createdAt: integer('created_at').notNull(),
  baseRevision: integer('base_revision').notNull(),
  planCount: integer('plan_count').notNull(),
  undoneId: integer('undone_id'),
  redoneId: integer('redone_id'),
  warnings: text('warnings', { mode: 'json' }).$type<string[]>().notNull(),
  dueAt: integer('due_at'),
  needsApproval: integer('needs_approval', { mode: 'boolean' }).notNull(),
  approvedBy: text('approved_by'),
  approvedAt: integer('approved_at'),
  approvedNote: text('approved_note'),
  decidedBy: text('decided_by'),
  decidedAt: integer('decided_at'),
  decidedNote: text('decided_note'),
  conflict: text('conflict'),
  revision: integer('revision').unique(),
})

/** The states of pending publications, which wait for approval or for their time. */
export const pendingStates = ['waiting', 'scheduled'] as const satisfies (typeof publications.$inferSelect.state)[]

/** The states of pending and conflicted publications, which may still be cancelled. */
export const openStates = [...pendingStates, 'conflicted'] as const

/** `document` and `viewableIn` contain JSON as text: the Worker sends the text to partners without parsing it. */
export const planVersions = sqliteTable('plan_versions', {
  publicationId: integer('publication_id').notNull(),
  baseRevision: integer('base_revision').notNull(),
  planId: integer('plan_id').notNull(),
  document: text('document'),
  viewableIn: text('viewable_in'),
  hash: text('hash').notNull(),
  superseded: integer('superseded', { mode: 'boolean' }).notNull().default(false),
})

/** A client secret. Times are Unix seconds. `expiresAt` is null for the current secret. */
export interface StoredSecret {
  hash: string
  createdAt: number
  expiresAt: number | null
}

export const changeRecord = sqliteTable('change_record', {
  id: integer('id').primaryKey(),
  changedAt: integer('changed_at').notNull(),
  actor: text('actor').notNull(),
  command: text('command').notNull(),
  note: text('note'),
  kind: text('kind').notNull(),
  requestId: text('request_id').notNull().unique(),
  kid: text('kid'),
  shortName: text('partner'),
  name: text('name'),
  country: text('country'),
  clientId: text('client_id'),
  createdAt: integer('created_at'),
  suspendedAt: integer('suspended_at'),
  endedAt: integer('ended_at'),
  tokensValidFrom: integer('tokens_valid_from'),
  secrets: text('secrets', { mode: 'json' }).$type<StoredSecret[]>(),
})

export const partnerContacts = sqliteTable('partner_contacts', {
  shortName: text('partner').primaryKey(),
  contact: text('contact').notNull(),
})
