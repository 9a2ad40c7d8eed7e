// The columns of the tables, for the types and queries of the command line. migrations/*.sql creates and explains the tables, with their keys and
// indexes; test/db/schema.test.ts compares the columns.
import { sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ChangeRequest } from './change-request.ts'

export const partners = sqliteTable('partners', {
  id: integer().primaryKey(),
  shortName: text('short_name').notNull(),
  name: text().notNull(),
  country: text().notNull(),
  clientId: text('client_id').notNull(),
  createdAt: integer('created_at').notNull(),
  suspendedAt: integer('suspended_at'),
  contact: text(),
  closedAt: integer('closed_at'),
  tokensValidFrom: integer('tokens_valid_from'),
})

export const partnerSecrets = sqliteTable('partner_secrets', {
  id: integer().primaryKey(),
  partnerId: integer('partner_id').notNull(),
  hash: text().notNull(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
})

export const changeRecord = sqliteTable('change_record', {
  id: integer().primaryKey(),
  changedAt: integer('changed_at').notNull(),
  actor: text().notNull(),
  command: text().notNull(),
  note: text(),
  kind: text().$type<ChangeRequest['kind']>().notNull(),
  partner: text(),
  name: text(),
  country: text(),
  suspendedAt: integer('suspended_at'),
  closedAt: integer('closed_at'),
  kid: text(),
  previousHash: text('previous_hash').notNull(),
  clientId: text('client_id'),
  secretFingerprint: text('secret_fingerprint'),
  tokensValidFrom: integer('tokens_valid_from'),
})

export const plans = sqliteTable('plans', {
  id: integer().primaryKey(),
  /** The JSON object that partners get. */
  document: text().notNull(),
  identifier: text()
    .notNull()
    .generatedAlwaysAs(sql`document ->> '$.identifier'`, { mode: 'virtual' }),
})

export const planViewability = sqliteTable('plan_viewability', {
  country: text().notNull(),
  planId: integer('plan_id').notNull(),
})

export const publications = sqliteTable('publications', {
  id: integer().primaryKey(),
  state: text({
    enum: ['staging', 'waiting', 'scheduled', 'published', 'conflicted', 'cancelled', 'rejected'],
  }).notNull(),
  actor: text().notNull(),
  command: text().notNull(),
  note: text(),
  createdAt: integer('created_at').notNull(),
  baseRevision: integer('base_revision').notNull(),
  planCount: integer('plan_count').notNull(),
  plansHash: text('plans_hash'),
  undoneId: integer('undone_id'),
  dueAt: integer('due_at'),
  needsApproval: integer('needs_approval', { mode: 'boolean' }).notNull(),
})

export const planVersions = sqliteTable('plan_versions', {
  publicationId: integer('publication_id').notNull(),
  planId: integer('plan_id').notNull(),
  document: text(),
  viewableIn: text('viewable_in'),
})

export const entryKinds = ['published', 'approved', 'conflicted', 'cancelled', 'rejected'] as const

export const publicationEntries = sqliteTable('publication_entries', {
  id: integer().primaryKey(),
  publicationId: integer('publication_id').notNull(),
  kind: text({ enum: entryKinds }).notNull(),
  actor: text().notNull(),
  note: text(),
  madeAt: integer('made_at').notNull(),
  revision: integer(),
  previousHash: text('previous_hash'),
})
