import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { makePlan } from '../support/make-plan.ts'
import { seedPartner, seedPlans } from '../worker/support/seed.ts'

async function pragma<Row>(call: string): Promise<Row[]> {
  const { results } = await env.DB.prepare(`select * from ${call}`).all<Row>()
  return results
}

const names = ['catalog', 'change_record', 'partner_contacts', 'plan_versions', 'publications']

test('the migrated database has exactly these tables, all of them STRICT', async () => {
  const rows = await pragma<{ name: string; type: string; strict: number }>('pragma_table_list')
  const migrated = rows.filter(({ name, type }) => type === 'table' && !/^(sqlite_|_cf_|d1_)/.test(name))
  expect(migrated.map(({ name }) => name).toSorted()).toEqual(names)
  expect(migrated.filter(({ strict }) => strict !== 1)).toEqual([])
})

test('the primary keys and indexes; there is nothing else, no trigger, view or foreign key', async () => {
  const found: string[] = []
  for (const name of names) {
    const columns = await pragma<{ name: string; pk: number }>(`pragma_table_xinfo('${name}')`)
    const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
    found.push(`${name} key ${key.map((column) => column.name).join(',')}`)
    expect(await pragma(`pragma_foreign_key_list('${name}')`)).toEqual([])
    for (const { name: index, unique, origin, partial } of await pragma<{
      name: string
      unique: number
      origin: string
      partial: number
    }>(`pragma_index_list('${name}')`)) {
      const parts = await pragma<{ name: string }>(`pragma_index_info('${index}')`)
      if (origin !== 'pk')
        found.push(
          `${name}${partial ? ' partial' : ''} ${unique ? 'unique' : 'index'} ${parts.map((part) => part.name).join(',')}`,
        )
    }
  }
  expect(found.toSorted()).toEqual([
    'catalog key id',
    'change_record index client_id',
    'change_record index partner',
    'change_record key id',
    'change_record partial index partner',
    'change_record partial unique client_id',
    'change_record partial unique partner',
    'change_record unique request_id',
    'partner_contacts key partner',
    'plan_versions index plan_id',
    'plan_versions key publication_id,plan_id',
    'plan_versions partial index plan_id,publication_id',
    'publications index state,due_at',
    'publications key id',
    'publications unique revision',
  ])
  expect(await pragma(`sqlite_master where type in ('trigger', 'view')`)).toEqual([])
})

describe('the database refuses', () => {
  test.each([
    ['a country in lower case', `update change_record set country = 'ke'`],
    ['an invalid short name', `update change_record set partner = 'A/b'`],
    ['an invalid client ID', `update change_record set client_id = 'short'`],
    ['a partner without a name', `update change_record set name = null`],
    ['a row of a partner and a key', `update change_record set kid = 'K'`],
    ['a closed partner that is not suspended', `update change_record set closed_at = 1`],
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
    await seedPlans(makePlan())
    await seedPartner()
    await expect(env.DB.prepare(statement).run()).rejects.toThrow('CHECK constraint failed')
  })
})
