// The tables, for types and queries. migrations/*.sql creates them; test/db/schema.test.ts compares the two.
import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, type AnySQLiteColumn } from 'drizzle-orm/sqlite-core'

const restrict = { onUpdate: 'restrict', onDelete: 'restrict' } as const

export const partners = sqliteTable('partners', {
  id: integer().primaryKey(),
  shortName: text('short_name').notNull().unique(),
  name: text().notNull(),
  country: text().notNull(),
  clientId: text('client_id').notNull().unique(),
  createdAt: integer('created_at').notNull(),
  suspendedAt: integer('suspended_at'),
  contact: text(),
  closedAt: integer('closed_at'),
  tokensValidFrom: integer('tokens_valid_from'),
})

export const partnerSecrets = sqliteTable(
  'partner_secrets',
  {
    id: integer().primaryKey(),
    partnerId: integer('partner_id')
      .notNull()
      .references(() => partners.id, restrict),
    hash: text().notNull().unique(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
  },
  (table) => [index('partner_secrets_by_partner').on(table.partnerId)],
)

export const plans = sqliteTable('plans', {
  id: integer().primaryKey(),
  /** The JSON object that partners get. */
  document: text().notNull(),
  identifier: text()
    .notNull()
    .unique()
    .generatedAlwaysAs(sql`document ->> '$.identifier'`, { mode: 'virtual' }),
})

export const planViewability = sqliteTable(
  'plan_viewability',
  {
    country: text().notNull(),
    planId: integer('plan_id')
      .notNull()
      .references(() => plans.id, restrict),
  },
  (table) => [
    primaryKey({ columns: [table.country, table.planId] }),
    index('plan_viewability_by_plan').on(table.planId),
  ],
)

export const catalogRevision = sqliteTable('catalog_revision', {
  id: integer().primaryKey(),
  revision: integer().notNull(),
  /** A random ID, which tells this catalog from others. */
  catalog: text().notNull(),
})

export const publicationStates = [
  'staging',
  'waiting',
  'scheduled',
  'published',
  'conflicted',
  'cancelled',
  'rejected',
] as const

/** migrations/0003_publications.sql explains the columns. */
export const publications = sqliteTable(
  'publications',
  {
    id: integer().primaryKey(),
    state: text({ enum: publicationStates }).notNull(),
    actor: text().notNull(),
    command: text().notNull(),
    note: text(),
    createdAt: integer('created_at').notNull(),
    baseRevision: integer('base_revision').notNull(),
    planCount: integer('plan_count').notNull(),
    plansHash: text('plans_hash'),
    undoneId: integer('undone_id').references((): AnySQLiteColumn => publications.id, restrict),
    dueAt: integer('due_at'),
    needsApproval: integer('needs_approval', { mode: 'boolean' }).notNull(),
  },
  (table) => [index('publications_by_state').on(table.state, table.dueAt)],
)

export const planVersions = sqliteTable(
  'plan_versions',
  {
    publicationId: integer('publication_id')
      .notNull()
      .references(() => publications.id, restrict),
    planId: integer('plan_id').notNull(),
    document: text(),
    viewableIn: text('viewable_in'),
  },
  (table) => [
    primaryKey({ columns: [table.publicationId, table.planId] }),
    index('plan_versions_by_plan').on(table.planId),
  ],
)

export const entryKinds = ['published', 'approved', 'conflicted', 'cancelled', 'rejected'] as const

export const publicationEntries = sqliteTable(
  'publication_entries',
  {
    id: integer().primaryKey(),
    publicationId: integer('publication_id')
      .notNull()
      .references(() => publications.id, restrict),
    kind: text({ enum: entryKinds }).notNull(),
    actor: text().notNull(),
    note: text(),
    madeAt: integer('made_at').notNull(),
    revision: integer().unique(),
    previousHash: text('previous_hash'),
  },
  (table) => [index('publication_entries_by_publication').on(table.publicationId)],
)
