import { env } from 'cloudflare:workers'
import { getTableColumns } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'
import * as schema from '../../src/db/schema.ts'
import { makePlan } from '../support/make-plan.ts'
import { seedPartner, seedPlans } from '../worker/support/seed.ts'

const tables = Object.values(schema).filter((table) => table instanceof SQLiteTable)

async function pragma<Row>(call: string): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${call}`).all<Row>()
  return results
}

const names = [...tables.map((table) => getTableConfig(table).name), 'catalog_revision'].toSorted()

test('the migrated database has exactly these tables, all of them STRICT', async () => {
  const rows = await pragma<{ name: string; type: string; strict: number }>('pragma_table_list')
  const migrated = rows.filter(({ name, type }) => type === 'table' && !/^(sqlite_|_cf_|d1_)/.test(name))
  expect(migrated.map(({ name }) => name).toSorted()).toEqual(names)
  expect(migrated.filter(({ strict }) => strict !== 1)).toEqual([])
})

test.each(tables.map((table) => [getTableConfig(table).name, table] as const))(
  '%s has the same columns',
  async (name, table) => {
    const migrated = await pragma<{ name: string; type: string; notnull: number }>(`pragma_table_xinfo('${name}')`)
    const expected = Object.values(getTableColumns(table)).map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      isRequired: column.notNull && !column.primary,
    }))
    const found = migrated.map(({ name: column, type, notnull }) => ({
      name: column,
      type,
      isRequired: notnull === 1,
    }))
    expect(found).toEqual(expected)
  },
)

test('the primary keys, foreign keys and indexes', async () => {
  const found: string[] = []
  for (const name of names) {
    const columns = await pragma<{ name: string; pk: number }>(`pragma_table_xinfo('${name}')`)
    const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
    found.push(`${name} key ${key.map((column) => column.name).join(',')}`)
    for (const { from, table, to, on_update, on_delete } of await pragma<Record<string, string>>(
      `pragma_foreign_key_list('${name}')`,
    ))
      found.push(`${name} ${from} of ${table}.${to} ${on_update} ${on_delete}`)
    for (const { name: index, unique, origin } of await pragma<{ name: string; unique: number; origin: string }>(
      `pragma_index_list('${name}')`,
    )) {
      const parts = await pragma<{ name: string }>(`pragma_index_info('${index}')`)
      if (origin !== 'pk')
        found.push(`${name} ${unique ? 'unique' : 'index'} ${parts.map((part) => part.name).join(',')}`)
    }
  }
  expect(found.toSorted()).toEqual([
    'catalog_revision key id',
    'change_record index partner',
    'change_record key id',
    'partner_secrets index partner_id',
    'partner_secrets key id',
    'partner_secrets partner_id of partners.id RESTRICT RESTRICT',
    'partner_secrets unique hash',
    'partners key id',
    'partners unique client_id',
    'partners unique short_name',
    'plan_versions index plan_id',
    'plan_versions key publication_id,plan_id',
    'plan_versions publication_id of publications.id RESTRICT RESTRICT',
    'plan_viewability index plan_id',
    'plan_viewability key country,plan_id',
    'plan_viewability plan_id of plans.id RESTRICT RESTRICT',
    'plans key id',
    'plans unique identifier',
    'publication_entries index publication_id',
    'publication_entries key id',
    'publication_entries publication_id of publications.id RESTRICT RESTRICT',
    'publication_entries unique revision',
    'publications index state,due_at',
    'publications key id',
    'publications undone_id of publications.id RESTRICT RESTRICT',
  ])
})

describe('the database refuses', () => {
  test.each([
    [
      'a country in lower case',
      `insert into partners (short_name, name, country, client_id, created_at) values ('aa', 'A', 'ke', 'AAAAAAAAAAAAAAAA', 0)`,
    ],
    [
      'an invalid short name',
      `insert into partners (short_name, name, country, client_id, created_at) values ('A/b', 'A', 'KE', 'AAAAAAAAAAAAAAAA', 0)`,
    ],
    [
      'an invalid client ID',
      `insert into partners (short_name, name, country, client_id, created_at) values ('aa', 'A', 'KE', 'short', 0)`,
    ],
    [
      'a secret without a partner',
      `insert into partner_secrets (partner_id, hash, created_at) values (999, '$pbkdf2-sha256$', 0)`,
    ],
    ['a document that is not JSON', `update plans set document = '{"id":1'`],
    ['a document of another plan', `update plans set document = json_set(document, '$.id', 2)`],
    ['a document without an identifier', `update plans set document = json_remove(document, '$.identifier')`],
    [
      'the same identifier twice',
      `insert into plans (id, document) select 2, json_set(document, '$.id', 2) from plans`,
    ],
    ['a version without its countries', `update plan_versions set viewable_in = null`],
    ['an entry that decides nothing', `update publications set state = 'scheduled'`],
    ['deleting a plan that is viewable', `delete from plans`],
    [
      'a third live secret',
      `insert into partner_secrets (partner_id, hash, created_at)
       select partners.id, '$pbkdf2-sha256$' || value, 0 from partners, json_each('[1,2,3]')`,
    ],
  ])('%s', async (_, statement) => {
    await seedPlans(makePlan())
    await seedPartner()
    await expect(env.DB.prepare(statement).run()).rejects.toThrow(/constraint failed|malformed JSON|two_live_secrets/)
  })
})
