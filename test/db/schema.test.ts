// src/db/schema.ts names what migrations/*.sql creates.
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteInteger, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { beforeEach, describe, expect, test } from 'vitest'
import * as schema from '../../src/db/schema.ts'
import { makePlan } from '../support/make-plan.ts'
import { useMemoryBindings } from '../ops/support/memory-bindings.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { insertPartner } from '../support/insert-partner.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { publishPlans } from '../support/publish-plans.ts'

const env = useMemoryBindings()()

async function select<Row>(source: string): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${source}`).all<Row>()
  return results
}

const tables = Object.values(schema)
  .filter((value) => is(value, SQLiteTable))
  .map((table) => getTableConfig(table))

test('the migrated database has exactly the tables of the schema, all of them STRICT, no trigger and no view', async () => {
  const rows = await select<{ name: string; type: string; strict: number }>('pragma_table_list')
  const migrated = rows.filter(({ name }) => !/^(sqlite_|_cf_|d1_)/.test(name))
  const expected = tables.map(({ name }) => ({ name, type: 'table', strict: 1 }))
  expect(new Set(migrated.map(({ name, type, strict }) => ({ name, type, strict })))).toEqual(new Set(expected))
  expect(await select(`sqlite_master where type in ('trigger', 'view')`)).toEqual([])
})

describe.each(tables)('the table $name', ({ name, columns, uniqueConstraints, foreignKeys }) => {
  const readStatement = async (object: string) => {
    const [found] = await select<{ sql: string | null }>(`sqlite_master where name = '${object}'`)
    return found?.sql ?? ''
  }

  test('has the columns of the schema in their order, with their types, defaults and keys, and no foreign key', async () => {
    const hasKey = columns.some(({ primary }) => primary)
    const statement = await readStatement(name)
    const found = await select<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
      `pragma_table_xinfo('${name}')`,
    )
    expect(
      found.map((column) => ({
        name: column.name,
        type: column.type.toLowerCase(),
        // A key of a STRICT table can't be null.
        isRequired: column.notnull === 1 || column.pk > 0,
        default: column.dflt_value ?? undefined,
        key: hasKey ? column.pk : 0,
      })),
    ).toEqual(
      columns.map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        isRequired: column.notNull,
        default: column.default === undefined ? undefined : String(column.mapToDriverValue(column.default)),
        key: Number(column.primary),
      })),
    )
    const isIncremented = columns.some((column) => is(column, SQLiteInteger) && column.autoIncrement)
    expect(/AUTOINCREMENT/i.test(statement)).toBe(isIncremented)
    expect(await select(`pragma_foreign_key_list('${name}')`)).toEqual(foreignKeys)
  })

  test('has the values of the schema for a state, and a CHECK of 0 and 1 for a boolean', async () => {
    const statement = (await readStatement(name)).replaceAll(/\s+/g, ' ')
    for (const { name: column, enumValues, dataType } of columns) {
      const values = (enumValues ?? []).map((value: string) => `'${value}'`)
      if (dataType === 'boolean') values.push('0', '1')
      const check = new RegExp(`CHECK \\(${column} IN \\(([^)]*)\\)`).exec(statement)
      expect({ column, values: check?.[1] ?? '' }).toEqual({ column, values: values.join(', ') })
    }
  })

  test('has the unique columns of the schema', async () => {
    const indexes = await select<{ name: string; origin: string }>(`pragma_index_list('${name}')`)
    const constraints = indexes.filter(({ origin }) => origin === 'u')
    const parts = await Promise.all(constraints.map((index) => select(`pragma_index_info('${index.name}')`)))
    expect(parts.map((columnsOf) => columnsOf.map((column) => Reflect.get(column as object, 'name')))).toEqual(
      columns.filter(({ isUnique }) => isUnique).map((column) => [column.name]),
    )
    expect(uniqueConstraints).toEqual([])
  })
})

describe('the database refuses', () => {
  beforeEach(() => emptyDatabase(env))
  test.each([
    ['a country in lower case', `update change_record set country = 'ke'`],
    ['an invalid short name', `update change_record set partner = 'A/b'`],
    ['an invalid client ID', `update change_record set client_id = 'short'`],
    ['a partner without a name', `update change_record set name = null`],
    ['a row of a partner and a key', `update change_record set kid = 'K'`],
    ['an ended partner that is not suspended', `update change_record set ended_at = 1`],
    ['a third secret', `update change_record set secrets = '[1, 2, 3]'`],
    ['secrets that are no array', `update change_record set secrets = '{}'`],
    ['secrets that are JSON5', `update change_record set secrets = '[{hash: 1}]'`],
    ['a document that is not JSON', `update plan_versions set document = '{"id":1'`],
    ['a document that is JSON5', `update plan_versions set document = '{id: 1, identifier: "plan-1"}'`],
    ['countries that are JSON5', `update plan_versions set viewable_in = '["KE",]'`],
    ['a document of another plan', `update plan_versions set document = json_set(document, '$.id', 2)`],
    ['a document without an identifier', `update plan_versions set document = json_remove(document, '$.identifier')`],
    ['a version without its countries', `update plan_versions set viewable_in = null`],
    ['a revision of what is not published', `update publications set state = 'cancelled'`],
    ['what is published without a revision', `update publications set revision = null`],
    ['a decision by nobody', `update publications set decided_by = null`],
    ['what was published without the approval that it needs', `update publications set needs_approval = 1`],
    ['an approval by the author', `update publications set approved_by = upper(actor), approved_at = 1`],
    [
      'a time that is missing',
      `update publications set state = 'scheduled', revision = null, decided_by = null, decided_at = null`,
    ],
    ['a conflict without a reason', `update publications set state = 'conflicted', revision = null`],
    ['a second catalog', `insert into catalog (id, name) values (2, 'x')`],
  ])('%s', async (_, statement) => {
    await publishPlans(openOperatorDatabase(env.DB), [makePlan()])
    await insertPartner(env.DB, { shortName: 'acme', country: 'KE', clientId: 'A'.repeat(16), secretHash: 'hash' })
    await expect(env.DB.prepare(statement).run()).rejects.toThrow('CHECK constraint failed')
  })
})
