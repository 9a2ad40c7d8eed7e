// The columns of the tables, for the types and queries of the command line. migrations/*.sql creates and explains the tables, with their keys and
// indexes; test/db/schema.test.ts compares the columns.
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

export const catalog = sqliteTable('catalog', {
  id: integer().primaryKey(),
  name: text().notNull(),
})

export const publications = sqliteTable('publications', {
  id: integer().primaryKey(),
  state: text({
    enum: ['staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled', 'replaced'],
  }).notNull(),
  actor: text().notNull(),
  command: text().notNull(),
  note: text(),
  createdAt: integer('created_at').notNull(),
  baseRevision: integer('base_revision').notNull(),
  planCount: integer('plan_count').notNull(),
  plansHash: text('plans_hash'),
  undoneId: integer('undone_id'),
  replacesId: integer('replaces_id'),
  dueAt: integer('due_at'),
  needsApproval: integer('needs_approval', { mode: 'boolean' }).notNull(),
  approvedBy: text('approved_by'),
  approvedAt: integer('approved_at'),
  approvedNote: text('approved_note'),
  decidedBy: text('decided_by'),
  decidedAt: integer('decided_at'),
  decidedNote: text('decided_note'),
  conflict: text(),
  revision: integer(),
})

export const planVersions = sqliteTable('plan_versions', {
  publicationId: integer('publication_id').notNull(),
  planId: integer('plan_id').notNull(),
  document: text(),
  viewableIn: text('viewable_in'),
  superseded: integer().notNull(),
})

export const changeRecord = sqliteTable('change_record', {
  id: integer().primaryKey(),
  changedAt: integer('changed_at').notNull(),
  actor: text().notNull(),
  command: text().notNull(),
  note: text(),
  kind: text().notNull(),
  requestId: text('request_id').notNull(),
  kid: text(),
  partner: text(),
  name: text(),
  country: text(),
  clientId: text('client_id'),
  createdAt: integer('created_at'),
  suspendedAt: integer('suspended_at'),
  closedAt: integer('closed_at'),
  tokensValidFrom: integer('tokens_valid_from'),
  secrets: text(),
})

export const partnerContacts = sqliteTable('partner_contacts', {
  partner: text().notNull(),
  contact: text().notNull(),
})
