// The tables, for types and queries. migrations/*.sql creates them; test/db/schema.test.ts compares the two.
import { index, integer, primaryKey, real, sqliteTable, text, type AnySQLiteColumn } from 'drizzle-orm/sqlite-core'

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

export const planCategories = sqliteTable('plan_categories', {
  id: integer().primaryKey(),
  name: text().notNull(),
  displayName: text('display_name').notNull(),
  tagLine: text('tag_line').notNull(),
})

export const planTypes = sqliteTable('plan_types', {
  id: integer().primaryKey(),
  name: text().notNull(),
})

export const riskLevels = sqliteTable('risk_levels', {
  id: integer().primaryKey(),
  name: text().notNull(),
})

export const fundManagers = sqliteTable('fund_managers', {
  id: integer().primaryKey(),
  name: text().notNull(),
})

/** A column has the name of its field if it stores the value unchanged (see planSchema). */
export const plans = sqliteTable(
  'plans',
  {
    id: integer().primaryKey(),
    identifier: text().notNull().unique(),
    name: text().notNull(),
    coolName: text('cool_name').notNull(),
    about: text().notNull(),
    hint: text().notNull(),
    imageUrl: text('image_url').notNull(),
    thumbnail: text().notNull(),
    sector: text().notNull(),
    fundType: text('fund_type').notNull(),
    profitType: text('profit_type').notNull(),
    profitTypeDescription: text('profit_type_description').notNull(),
    performance1: real('performance_1'),
    performance3: real('performance_3'),
    performance5: real('performance_5'),
    performance10: real('performance_10'),
    performanceDate: text('performance_date').notNull(),
    currency: text().notNull(),
    tenor: text().notNull(),
    lockInPeriod: integer('lock_in_period_days').notNull(),
    partialWithdrawable: integer('is_partial_withdrawable', { mode: 'boolean' }).notNull(),
    factSheet: text('fact_sheet').notNull(),
    prospectus: text().notNull(),
    isInvestable: integer('is_investable', { mode: 'boolean' }).notNull(),
    nonInvestableNote: text('non_investable_note'),
    categoryId: integer('category_id').references(() => planCategories.id, restrict),
    planTypeId: integer('plan_type_id').references(() => planTypes.id, restrict),
    riskLevelId: integer('risk_level_id').references(() => riskLevels.id, restrict),
    fundManagerId: integer('fund_manager_id').references(() => fundManagers.id, restrict),
    fundCurrency: text('fund_currency'),
  },
  (table) => [
    index('plans_by_category').on(table.categoryId),
    index('plans_by_plan_type').on(table.planTypeId),
    index('plans_by_risk_level').on(table.riskLevelId),
    index('plans_by_fund_manager').on(table.fundManagerId),
  ],
)

export const planMinimums = sqliteTable(
  'plan_minimums',
  {
    planId: integer('plan_id')
      .notNull()
      .references(() => plans.id, restrict),
    currency: text().notNull(),
    minInvestableAmount: real('min_investable_amount'),
    minTopUpAmount: real('min_top_up_amount'),
  },
  (table) => [primaryKey({ columns: [table.planId, table.currency] })],
)

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

/** migrations/0005_publications.sql explains the columns. */
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
    approvedBy: text('approved_by'),
    approvedAt: integer('approved_at'),
    approvalNote: text('approval_note'),
    endedBy: text('ended_by'),
    endedAt: integer('ended_at'),
    endNote: text('end_note'),
    publishedAt: integer('published_at'),
    revision: integer().unique(),
    previousId: integer('previous_id').references((): AnySQLiteColumn => publications.id, restrict),
    previousHash: text('previous_hash'),
    prunedBefore: integer('pruned_before'),
    prunesBefore: integer('prunes_before'),
  },
  (table) => [index('publications_by_state').on(table.state, table.dueAt)],
)

export const publicationPlans = sqliteTable(
  'publication_plans',
  {
    publicationId: integer('publication_id')
      .notNull()
      .references(() => publications.id, restrict),
    planId: integer('plan_id').notNull(),
    /** A plan as JSON; null where it does not exist. */
    before: text(),
    after: text(),
  },
  (table) => [
    primaryKey({ columns: [table.publicationId, table.planId] }),
    index('publication_plans_by_plan').on(table.planId),
  ],
)
