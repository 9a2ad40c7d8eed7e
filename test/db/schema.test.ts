import { env } from 'cloudflare:workers'
import { getTableColumns } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'
import * as changeRecordSchema from '../../src/db/change-record-schema.ts'
import * as schema from '../../src/db/schema.ts'
import { makePlan } from '../support/make-plan.ts'
import { seedPartner, seedPlans } from '../worker/support/seed.ts'

const tables = [...Object.values(schema), ...Object.values(changeRecordSchema)].filter(
  (table) => table instanceof SQLiteTable,
)

async function pragma<Row>(call: string): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${call}`).all<Row>()
  return results
}

test('the migrated database has exactly the tables of the drizzle schema, all of them STRICT', async () => {
  const rows = await pragma<{ name: string; type: string; strict: number }>('pragma_table_list')
  const migrated = rows.filter(({ name, type }) => type === 'table' && !/^(sqlite_|_cf_|d1_)/.test(name))
  expect(migrated.map(({ name }) => name).toSorted()).toEqual(
    tables.map((table) => getTableConfig(table).name).toSorted(),
  )
  expect(migrated.filter(({ strict }) => strict !== 1)).toEqual([])
})

describe.each(tables.map((table) => [getTableConfig(table).name, table] as const))('%s', (name, table) => {
  test('has the same columns', async () => {
    const migrated = await pragma<{ name: string; type: string; notnull: number; pk: number }>(
      `pragma_table_xinfo('${name}')`,
    )
    const composite = getTableConfig(table).primaryKeys[0]?.columns.map((column) => column.name) ?? []
    const expected = Object.values(getTableColumns(table)).map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      isRequired: column.notNull && !column.primary,
      key: composite.indexOf(column.name) + 1 || Number(column.primary),
    }))
    const found = migrated.map(({ name: column, type, notnull, pk }) => ({
      name: column,
      type,
      isRequired: notnull === 1,
      key: pk,
    }))
    expect(found).toEqual(expected)
  })

  test('has the same foreign keys, all with ON UPDATE RESTRICT and ON DELETE RESTRICT', async () => {
    const migrated = await pragma<{ table: string; from: string; to: string; on_update: string; on_delete: string }>(
      `pragma_foreign_key_list('${name}')`,
    )
    const found = migrated.map(({ from, table: target, to, on_update, on_delete }) =>
      [from, target, to, on_update, on_delete].join(' '),
    )
    const expected = getTableConfig(table).foreignKeys.map((key) => {
      const { columns, foreignTable, foreignColumns } = key.reference()
      return `${columns[0]?.name} ${getTableConfig(foreignTable).name} ${foreignColumns[0]?.name} RESTRICT RESTRICT`
    })
    expect(found.toSorted()).toEqual(expected.toSorted())
  })

  test('has the same indexes', async () => {
    const found: string[] = []
    for (const { name: index, unique, origin } of await pragma<{ name: string; unique: number; origin: string }>(
      `pragma_index_list('${name}')`,
    )) {
      const columns = await pragma<{ name: string }>(`pragma_index_info('${index}')`)
      if (origin !== 'pk') found.push(`${unique} ${columns.map((column) => column.name).join(',')}`)
    }
    const { indexes } = getTableConfig(table)
    const uniques = Object.values(getTableColumns(table)).filter(({ isUnique }) => isUnique)
    const expected = [
      ...indexes.map(
        ({ config }) => `0 ${config.columns.map((column) => ('name' in column ? column.name : '?')).join(',')}`,
      ),
      ...uniques.map((column) => `1 ${column.name}`),
    ]
    expect(found.toSorted()).toEqual(expected.toSorted())
  })
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
