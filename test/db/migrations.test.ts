// Every migration is applied to a filled database, which must lose nothing.
import { applyD1Migrations, reset, type D1Migration } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { catalogPlanSchema } from '../../src/catalog/plan-schema.ts'
import { selectCatalog } from '../../src/db/catalog-queries.ts'
import { openDatabase } from '../../src/db/database.ts'
import { selectPartnerCheck } from '../../src/db/client-queries.ts'
import { selectPartners } from '../../src/db/partner-queries.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'

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
  ...plan1,
  id: 2,
  identifier: 'sparse',
  performance10: null,
  currency: 'UGX',
  minInvestableAmounts: {},
  isInvestable: false,
  nonInvestableNote: 'Sold out.',
  category: null,
  fundCurrency: null,
}

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
    `insert into change_record (id, changed_at, actor, command, note, kind, partner, country, suspended_at, kid, previous_hash)
      values (1, 1700000006, 'amina', 'partner rotate acme', 'Leaked.', 'rotate', 'acme', 'KE', null, null, 'hash'),
      (2, 1700000007, 'amina', 'keys drop OLD', null, 'keys-drop', null, null, null, 'OLD', 'hash')`,
  ],
  '0002_plans.sql': [
    `update catalog_revision set revision = 7`,
    `insert into plans (id, document) values
      (1, '${JSON.stringify({ ...plan1, name: 'Old' })}'), (2, '${JSON.stringify(plan2)}')`,
    `insert into plan_viewability (country, plan_id) values ('KE', 1), ('UG', 2)`,
  ],
  '0003_publications.sql': [
    `insert into publications
      (id, state, actor, command, created_at, base_revision, plan_count, plans_hash, needs_approval) values
      (1, 'staging', 'amina', 'catalog import', 1700000005, 7, 1, 'hash', 0),
      (2, 'waiting', 'amina', 'plan close sparse', 1700000006, 8, 1, 'hash', 1)`,
    `insert into plan_versions (publication_id, plan_id, document, viewable_in) values
      (1, 1, '${JSON.stringify(plan1)}', '["KE"]'), (2, 2, null, null)`,
    `insert into publication_entries (id, publication_id, kind, actor, made_at, revision)
      values (1, 1, 'published', 'amina', 1700000007, 8)`,
  ],
  '0004_end_tokens_and_fingerprints.sql': [
    `update partners set tokens_valid_from = 1700000009 where id = 1`,
    `insert into change_record
      (id, changed_at, actor, command, kind, partner, country, previous_hash, client_id, secret_fingerprint, tokens_valid_from) values
      (3, 1700000008, 'amina', 'partner lockdown acme', 'lockdown', 'acme', 'KE', 'hash', 'AAAAAAAAAAAAAAA1',
       '${'0'.repeat(64)}', 1700000009)`,
  ],
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
  const lost = Object.entries(before).flatMap(([table, rows]) =>
    rows
      .filter((row) => !(after[table] ?? []).some((found) => isKept(row, found)))
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

/** The document of a plan may get more members. The record keeps its versions as they were. */
function isKept(row: Row, found: Row): boolean {
  return Object.entries(row).every(([name, value]) =>
    name === 'document' && 'identifier' in row
      ? isKept(readMembers(value), readMembers(found[name]))
      : found[name] === value,
  )
}

/** @returns the members of a document as JSON. */
function readMembers(document: unknown): Row {
  const members = Object.entries<unknown>(JSON.parse(String(document)))
  return Object.fromEntries(members.map(([name, value]) => [name, JSON.stringify(value)]))
}

/** Fills a database as of `count` migrations, applies the others, and returns the damage. */
async function migrateFilled(migrations: D1Migration[], count: number): Promise<string[]> {
  const before = await fillDatabase(migrations, count)
  await applyD1Migrations(env.DB, migrations)
  return findDamage(before, await readTables())
}

async function expectPartnersReadable(): Promise<void> {
  const db = openDatabase(env.DB)
  const [acme, boda] = await Promise.all(
    ['AAAAAAAAAAAAAAA1', 'AAAAAAAAAAAAAAA2'].map((clientId) => selectPartnerCheck(env.DB, clientId)),
  )
  expect(acme?.partner).toEqual({
    shortName: 'acme',
    country: 'KE',
    isSuspended: false,
    tokensValidFrom: expect.toBeOneOf([null, expect.any(Number)]),
    secrets: [
      { hash: '$pbkdf2-sha256$i=1000$b2xk$b2xk', expiresAt: 1800000000 },
      { hash: '$pbkdf2-sha256$i=1000$bmV3$bmV3', expiresAt: null },
    ],
  })
  expect(boda?.partner).toMatchObject({ shortName: 'boda', country: 'UG', isSuspended: true })
  expect((await selectPartners(db)).map(({ name }) => name)).toEqual(['Acme Wallet', "Boda 'Savings'"])
}

async function expectCatalogReadable(): Promise<void> {
  const db = openDatabase(env.DB)
  const { documents } = await selectPlanList(db, 'UG', { currency: 'UGX' })
  expect(documents.map((document) => JSON.parse(document))).toMatchObject([plan2])
  const { plans } = await selectCatalog(db)
  expect(plans).toMatchObject([
    { id: 1, viewableIn: ['KE'] },
    { ...plan2, viewableIn: ['UG'] },
  ])
  // An export can be imported again.
  for (const plan of plans) expect(catalogPlanSchema.safeParse(plan).error).toBeUndefined()
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

describe('the test itself', () => {
  const withMigration = (...queries: string[]) => [...migrations, { name: '9999_test.sql', queries }]

  test('passes for a migration that adds a column and a filled table', async () => {
    const next = withMigration(
      `alter table partners add column added text not null default 'x'`,
      `update plans set document = json_insert(document, '$.added', 'x')`,
      `create table notes (id integer primary key) strict`,
      `insert into notes (id) values (1)`,
    )
    expect(await migrateFilled(next, migrations.length)).toEqual([])
    await expectPartnersReadable()
  })

  test.each([
    ['deletes rows', [`delete from plan_viewability`], 'plan_viewability has lost {"country":"KE","plan_id":1}'],
    ['changes values', [`update partners set name = upper(name)`], 'partners has lost {"id":1,'],
    [
      'removes a member of documents',
      [`update plans set document = json_remove(document, '$.hint')`],
      'plans has lost {"id":1,',
    ],
    ['drops a column', [`alter table publication_entries drop column note`], 'publication_entries has lost {"id":1,'],
    [
      'rebuilds a table with a column that the old one lacks',
      [
        `create table kept_secrets (id integer, partner_id integer, hash text, created_at integer, note text) strict`,
        `insert into kept_secrets select "id", "partner_id", "hash", "created_at", "note" from partner_secrets`,
      ],
      'kept_secrets.note holds its own name',
    ],
  ])('fails for a migration that %s', async (_, queries, damage) => {
    const found = await migrateFilled(withMigration(...queries), migrations.length)
    expect(found).toContainEqual(expect.stringContaining(damage))
  })
})
