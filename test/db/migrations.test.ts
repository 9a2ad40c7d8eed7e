// Every migration is applied to a filled database, which must lose nothing.
import { applyD1Migrations, reset, type D1Migration } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { catalogPlanSchema } from '../../src/catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import { selectCatalogAt } from '../../src/db/publication-queries.ts'
import { openDatabase } from '../../src/db/database.ts'
import { selectClient, selectPartnerCheck, selectPartners } from '../../src/db/partner-queries.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'

/**
 * Rows to insert right after each migration. They are frozen: a set uses only the tables and columns of its time, so never
 * change it. A migration that creates a table needs a new set; a migration that only adds columns doesn't.
 */
const frozenRows: Record<string, string[]> = {
  '0001_partners_and_keys.sql': [
    `insert into partners (id, short_name, name, country, client_id, created_at, suspended_at) values
      (1, 'acme', 'Acme Wallet', 'KE', 'AAAAAAAAAAAAAAA1', 1700000001, null),
      (2, 'boda', 'Boda ''Savings''', 'UG', 'AAAAAAAAAAAAAAA2', 1700000002, 1700000003)`,
    `insert into partner_secrets (id, partner_id, hash, created_at, expires_at) values
      (1, 1, '$pbkdf2-sha256$i=1000$b2xk$b2xk', 1700000001, 1800000000),
      (2, 1, '$pbkdf2-sha256$i=1000$bmV3$bmV3', 1700000004, null),
      (3, 2, '$pbkdf2-sha256$i=1000$Ym9kYQ$Ym9kYQ', 1700000002, null)`,
    `insert into change_record (id, changed_at, actor, command, note, kind, partner, name, country, kid, previous_hash) values
      (1, 1700000006, 'amina', 'partner rotate acme', 'Leaked.', 'rotate', 'acme', 'Acme Wallet', 'KE', null, 'hash'),
      (2, 1700000007, 'amina', 'keys drop OLD', null, 'keys-drop', null, null, null, 'OLD', 'hash')`,
  ],
  '0002_catalog.sql': [
    `insert into plan_categories (id, name, display_name, tag_line) values (3, 'Money Market', 'Save daily', 'Low risk')`,
    `insert into plan_types (id, name) values (4, 'Unit Trust')`,
    `insert into risk_levels (id, name) values (5, 'Low')`,
    `insert into fund_managers (id, name) values (6, 'Société d’Épargne')`,
    `insert into plans (id, identifier, name, cool_name, about, hint, image_url, thumbnail, sector, fund_type, profit_type,
      profit_type_description, performance_1, performance_3, performance_5, performance_10, performance_date, currency,
      tenor, lock_in_period_days, is_partial_withdrawable, fact_sheet, prospectus, is_investable, non_investable_note,
      category_id, plan_type_id, risk_level_id, fund_manager_id, fund_currency) values
      (1, 'full', 'Name', 'Cool name', 'About', 'Hint', 'https://example.com/image', 'https://example.com/thumbnail',
       'Sector', 'MONEY_MARKET', 'VARIABLE', 'Profit', 13.1, -0.25, 0, 7.5, '2026-10-30', 'KES', 'Open-ended', 30, 1,
       'https://example.com/facts', 'https://example.com/prospectus', 1, null, 3, 4, 5, 6, 'USD'),
      (2, 'sparse', 'Name 2', 'Cool name 2', 'About 2', 'Hint 2', 'https://example.com/2', 'https://example.com/2',
       'Sector 2', 'BOND', 'FIXED', 'Profit 2', null, null, null, null, '2026-10-29', 'UGX', '2 years', 0, 0,
       'https://example.com/2', 'https://example.com/2', 0, 'Sold out.', null, null, null, null, null)`,
    `insert into plan_minimums (plan_id, currency, min_investable_amount, min_top_up_amount) values
      (1, 'KES', 1000.5, 500), (1, 'USD', 10, null)`,
    `insert into plan_viewability (country, plan_id) values ('KE', 1), ('UG', 1), ('UG', 2)`,
  ],
  '0003_operators.sql': [
    `update catalog_version set version = 7`,
    `insert into catalog_staging (import_id, target, part, json) values ('import', 'plans', 0, '[]')`,
  ],
  '0005_publications.sql': [
    `insert into publications (id, state, actor, command, created_at, base_revision, plan_count, needs_approval) values
      (5, 'staging', 'amina', 'catalog import', 1700000005, 7, 1, 0)`,
    `insert into publication_plans (publication_id, plan_id, before, after) values (5, 1, null, '{"id":1}')`,
  ],
}

const droppedTables = new Set(['catalog_staging'])

/** Tables and columns that a migration has renamed, by their old name. */
const renamedTables: Record<string, string> = { catalog_version: 'catalog_revision' }
const renamedColumns: Record<string, string> = { 'catalog_version.version': 'revision' }

const plan1 = {
  id: 1,
  identifier: 'full',
  name: 'Name',
  coolName: 'Cool name',
  about: 'About',
  hint: 'Hint',
  imageUrl: 'https://example.com/image',
  thumbnail: 'https://example.com/thumbnail',
  sector: 'Sector',
  fundType: 'MONEY_MARKET',
  profitType: 'VARIABLE',
  profitTypeDescription: 'Profit',
  performance1: 13.1,
  performance3: -0.25,
  performance5: 0,
  performance10: 7.5,
  performanceDate: '2026-10-30',
  currency: 'KES',
  minInvestableAmounts: { KES: 1000.5, USD: 10 },
  minTopUpAmounts: { KES: 500 },
  tenor: 'Open-ended',
  lockInPeriod: 30,
  partialWithdrawable: true,
  factSheet: 'https://example.com/facts',
  prospectus: 'https://example.com/prospectus',
  isInvestable: true,
  nonInvestableNote: null,
  category: { id: 3, name: 'Money Market', displayName: 'Save daily', tagLine: 'Low risk' },
  planType: { id: 4, name: 'Unit Trust' },
  productRiskLevel: { id: 5, name: 'Low' },
  fundManager: { id: 6, name: 'Société d’Épargne' },
  fundCurrency: { currency: 'USD' },
}
const plan2 = {
  id: 2,
  identifier: 'sparse',
  performance10: null,
  minInvestableAmounts: {},
  partialWithdrawable: false,
  isInvestable: false,
  nonInvestableNote: 'Sold out.',
  category: null,
  fundManager: null,
  fundCurrency: null,
}

type Row = Record<string, unknown>

async function readTables(): Promise<Record<string, Row[]>> {
  const list = `select name from pragma_table_list where schema = 'main' and type = 'table'`
  const { results } = await env.DB.prepare(list).all<{ name: string }>()
  const tables: Record<string, Row[]> = {}
  for (const { name } of results.filter((table) => !/^(sqlite_|_cf_|d1_)/.test(table.name))) {
    tables[name] = (await env.DB.prepare(`select * from ${name}`).all<Row>()).results
  }
  return tables
}

/** Applies the first `count` migrations to an empty database, and inserts the frozen rows after each. */
async function fillDatabase(migrations: D1Migration[], count: number): Promise<Record<string, Row[]>> {
  await reset()
  for (let applied = 1; applied <= count; applied++) {
    await applyD1Migrations(env.DB, migrations.slice(0, applied))
    const statements = frozenRows[migrations[applied - 1]?.name ?? ''] ?? []
    if (statements.length > 0) await env.DB.batch(statements.map((statement) => env.DB.prepare(statement)))
  }
  return readTables()
}

/** Returns a line for each row that isn't there any more, and for each column that is filled with its own name. */
function findDamage(before: Record<string, Row[]>, after: Record<string, Row[]>): string[] {
  const kept = Object.entries(before).filter(([table]) => !droppedTables.has(table))
  const lost = kept.flatMap(([table, rows]) =>
    rows
      .filter(
        (row) =>
          !(after[table] ?? after[renamedTables[table] ?? ''] ?? []).some((found) =>
            Object.keys(row).every((name) => found[renamedColumns[`${table}.${name}`] ?? name] === row[name]),
          ),
      )
      .map((row) => `${table} has lost ${JSON.stringify(row)}`),
  )
  // SQLite reads an unknown column in double quotes as a string: insert into new select "id", "added" from old.
  const misread = Object.entries(after).flatMap(([table, rows]) =>
    rows.flatMap((row) =>
      Object.entries(row).flatMap(([name, value]) => (value === name ? `${table}.${name} holds its own name` : [])),
    ),
  )
  return [...lost, ...misread]
}

/** Fills a database as of `count` migrations, applies the others, and returns the damage. */
async function migrateFilled(migrations: D1Migration[], count: number): Promise<string[]> {
  const before = await fillDatabase(migrations, count)
  await applyD1Migrations(env.DB, migrations)
  return findDamage(before, await readTables())
}

async function expectPartnersReadable(): Promise<void> {
  const db = openDatabase(env.DB)
  expect(await selectClient(env.DB, 'AAAAAAAAAAAAAAA1')).toEqual({
    shortName: 'acme',
    country: 'KE',
    isSuspended: false,
    secrets: [
      { hash: '$pbkdf2-sha256$i=1000$b2xk$b2xk', expiresAt: 1800000000 },
      { hash: '$pbkdf2-sha256$i=1000$bmV3$bmV3', expiresAt: null },
    ],
  })
  const { partner } = await selectPartnerCheck(env.DB.withSession(), 'AAAAAAAAAAAAAAA2')
  expect(partner).toEqual({ shortName: 'boda', country: 'UG', isSuspended: true })
  expect((await selectPartners(db)).map(({ name }) => name)).toEqual(['Acme Wallet', "Boda 'Savings'"])
}

async function expectCatalogReadable(): Promise<void> {
  const db = openDatabase(env.DB)
  expect((await selectPlanList(db, 'KE', {})).plans).toMatchObject([plan1])
  expect((await selectPlanList(db, 'UG', { currency: 'UGX' })).plans).toMatchObject([plan2])
  const catalog = await selectCatalog(db)
  expect(catalog).toMatchObject([
    { ...plan1, viewableIn: ['KE', 'UG'] },
    { ...plan2, viewableIn: ['UG'] },
  ])
  // An export can be imported again.
  for (const plan of catalog) expect(catalogPlanSchema.safeParse(plan).error).toBeUndefined()
}

const migrations = env.TEST_MIGRATIONS

test('every table has frozen rows', async () => {
  const tables = await fillDatabase(migrations, migrations.length)
  expect(Object.keys(tables).filter((name) => tables[name]?.length === 0)).toEqual([])
})

test.each(migrations.map(({ name }, index) => [name, index + 1] as const))(
  'a database filled after %s loses nothing in later migrations, and the queries read it',
  async (_, count) => {
    expect(await migrateFilled(migrations, count)).toEqual([])
    await expectPartnersReadable()
    if (count >= 2) await expectCatalogReadable()
  },
)

test('the migration to publications records the catalog as it is', async () => {
  const before = migrations.findIndex(({ name }) => name === '0005_publications.sql')
  await migrateFilled(migrations, before)
  const db = openDatabase(env.DB)
  const { revision } = await selectCatalogOrigin(db)
  const catalog = await selectCatalog(db)
  expect(catalog).toHaveLength(2)
  expect(await selectCatalogAt(db, revision)).toEqual(catalog)
  expect(await selectCatalogAt(db, revision - 1)).toEqual([])
})

describe('the test itself', () => {
  // SQLite refuses to break a trigger.
  const withoutTriggers = ['drop trigger publications_apply', 'drop trigger publications_check']
  const withMigration = (...queries: string[]) => [...migrations, { name: '9999_test.sql', queries }]

  test('passes for a migration that adds a column and a filled table', async () => {
    const next = withMigration(
      `alter table plans add column added text not null default 'x'`,
      `create table notes (id integer primary key) strict`,
      `insert into notes (id) values (1)`,
    )
    expect(await migrateFilled(next, migrations.length)).toEqual([])
    await expectPartnersReadable()
    await expectCatalogReadable()
  })

  test.each([
    ['deletes rows', [`delete from plan_minimums`], 'plan_minimums has lost {"plan_id":1,"currency":"KES"'],
    ['changes values', [`update plans set performance_1 = round(performance_1)`], 'plans has lost {"id":1,'],
    ['drops a column', [...withoutTriggers, `alter table plans drop column hint`], 'plans has lost {"id":1,'],
    ['drops a table', [`drop table publication_plans`], 'publication_plans has lost {"publication_id":5'],
    [
      'rebuilds a table with a column that the old one lacks',
      [
        ...withoutTriggers,
        `create table new_minimums (plan_id integer not null, currency text not null, min_investable_amount real,
           min_top_up_amount real, note text not null) strict`,
        `insert into new_minimums select "plan_id", "currency", "min_investable_amount", "min_top_up_amount", "note"
           from plan_minimums`,
        `drop table plan_minimums`,
        `alter table new_minimums rename to plan_minimums`,
      ],
      'plan_minimums.note holds its own name',
    ],
  ])('fails for a migration that %s', async (_, queries, damage) => {
    const found = await migrateFilled(withMigration(...queries), migrations.length)
    expect(found).toContainEqual(expect.stringContaining(damage))
  })
})
