// A copy is read back by SQLite, and a comparison names what a database lost since.
import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { deleteLeftovers } from '../../../../src/db/leftovers.ts'
import { insertPartnerChange, setContact, type PartnerChange } from '../../../../src/db/partner-changes.ts'
import { selectPartner } from '../../../../src/db/partner-queries.ts'
import { approveForLater, endAsCancelled } from '../../../../src/db/publication-states.ts'
import { endAsConflicted, flagSupersededVersions } from '../../../../src/db/publish.ts'
import { deleteUnusedVersions } from '../../../../src/db/stage-publication.ts'
import { findLostRows } from '../../../../src/ops/core/service/database-copy.ts'
import { outdatedSchema } from '../../../../src/ops/shared/target.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { isCausedBy } from '../../../../src/ops/store/failure.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { insertPartner, makeRequest } from '../../../support/insert-partner.ts'
import { publishAs, publishNow, publishPlans, stageChanges, makeStagedPending } from '../../../support/publish-plans.ts'
import { createFolder } from '../../../support/temporary-folder.ts'
import { interceptD1 } from '../../../support/unreliable-stores.ts'
import { openBindingStore, openStores } from '../../support/binding-store.ts'
import { openMemoryBindings, useMemoryBindings } from '../../support/memory-bindings.ts'
import { runCommand } from '../../support/run-ops.ts'
import { emptyDatabase } from '../../support/test-database.ts'

const bindings = useMemoryBindings()()
const { DB } = bindings
const db = openOperatorDatabase(DB)
const folder = await createFolder(afterAll)
const file = join(folder, 'kept.sql')

const run = (words: readonly string[], on = DB) =>
  runCommand(words, { withStore: openStores(() => ({ ...bindings, DB: on })) })
const execute = (statement: string) => DB.prepare(statement).run()
const decision = (publicationId: number) => ({ publicationId, actor: 'boris', note: null })
const changeNewest = async (shortName: string, wanted: PartnerChange) =>
  insertPartnerChange(db, makeRequest(), (await selectPartner(db, shortName))?.id ?? 0, wanted)
const secret = { kind: 'replace-all', secretHash: 'other hash' } as const
const strange = 'O’Hara\u2028"Ω" \\n ; \' 🦓'

/** Every table, and every state of a publication. */
beforeEach(async () => {
  await emptyDatabase(bindings)
  // IDs begin with 1.
  await execute('delete from sqlite_sequence')
  await publishPlans(db, [makePlan({ id: 1, about: `${strange}\n;\n` }), makePlan({ id: 2 })])
  await publishPlans(db, [makePlan({ id: 1, name: 'New' })])
  const change = [{ planId: 2, after: null }]
  for (const state of ['waiting', 'scheduled', 'scheduled'] as const) {
    const id = await stageChanges(db, change, { dueAt: 9e9, needsApproval: state === 'waiting', note: strange })
    await makeStagedPending(db, id, state)
  }
  await endAsConflicted(db, decision(5), 'a plan was changed')
  await stageChanges(db, change)
  for (const shortName of ['acme', 'boda']) {
    const clientId = shortName.padEnd(16, 'x')
    await insertPartner(DB, { shortName, country: 'KE', clientId, secretHash: 'first hash' })
    await setContact(db, shortName, `dev@${shortName}.example`)
  }
  await changeNewest('boda', secret)
})

/** All rows of a database, without staging. */
const queries = [
  'select * from catalog',
  `select * from publications where state <> 'staging' order by id`,
  `select * from plan_versions where publication_id in (select id from publications where state <> 'staging') order by 1, 2`,
  'select * from change_record order by id',
  'select * from partner_contacts order by 1',
]
const readAll = async () => Promise.all(queries.map(async (query) => (await DB.prepare(query).all()).results))

test('a database may lack more rows than a call can have arguments', async () => {
  const tables = [
    'catalog (id)',
    'publications (id, base_revision, state)',
    'plan_versions (publication_id, base_revision, plan_id)',
    'change_record (id)',
  ].map((table) => `CREATE TABLE ${table};\n`)
  const rows = Array.from({ length: 150_000 }, (_, index) => `INSERT INTO change_record VALUES (${index + 1000});\n`)
  await writeFile(file, [...tables, ...rows].join(''))
  const { code, stdout } = await run(['compare', file])
  expect({ code, lines: stdout.split('\n').length - 1 }).toEqual({ code: 3, lines: rows.length })
})

test('a copy makes the same database, row for row, and only its owner may read it', async () => {
  expect(await run(['copy', '--force', file])).toMatchObject({ code: 0, stdout: '' })
  expect((await stat(file)).mode % 0o1000).toBe(0o600)
  const copied = new DatabaseSync(':memory:')
  copied.exec(await readFile(file, 'utf8'))
  expect(queries.map((query) => copied.prepare(query).all())).toEqual(await readAll())
  const schema = 'select type, name, sql from sqlite_master where sql is not null order by name'
  expect(copied.prepare(schema).all()).toEqual((await DB.prepare(schema).all()).results)
  copied.close()
})

test.each([
  ['a publication', () => publishPlans(db, [makePlan({ id: 3 })])],
  ['a decision', async () => endAsCancelled(db, decision(4))],
  ['a change of a partner', () => changeNewest('acme', { kind: 'suspend' })],
])('a copy is refused when %s came meanwhile, and the file stays as it was', async (_, change) => {
  await writeFile(file, 'old')
  let isChanged = false
  const changing = interceptD1(DB, async (call, { sql }) => {
    if (!isChanged && sql.includes('"plan_versions"')) {
      isChanged = true
      await change()
    }
    return call()
  })
  expect(await run(['copy', '--force', file], changing)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'Somebody changed the database while it was read. No file was written: try again.\n',
  })
  expect(await readFile(file, 'utf8')).toBe('old')
})

test('what commands and the schedule do is no finding', async () => {
  const waiting = await stageChanges(db, [{ planId: 1, after: makePlan({ id: 1, name: 'New', hint: 'Mine' }) }], {
    needsApproval: true,
  })
  await makeStagedPending(db, waiting, 'waiting')
  await run(['copy', '--force', file])
  const compared = /^Rows compared: 1 of catalog, 6 of publications, 7 of plan_versions, 3 of change_record\.\n$/
  expect(await run(['compare', file])).toEqual({ code: 0, stdout: '', stderr: expect.stringMatching(compared) })
  await approveForLater(db, decision(3))
  await endAsCancelled(db, decision(4))
  await endAsCancelled(db, decision(5))
  await publishNow(db, 6)
  await execute('delete from plan_versions where publication_id not in (select id from publications)')
  await publishPlans(db, [makePlan({ id: 1, name: 'Newer' })])
  // Merged with that: its plans take the place of those in the copy.
  expect(await publishAs(db, decision(waiting), 'approve')).toMatchObject({ kind: 'published' })
  await flagSupersededVersions(db)
  await deleteUnusedVersions(db)
  await changeNewest('acme', secret)
  await changeNewest('boda', { kind: 'end' })
  await deleteLeftovers(db)
  expect(await run(['compare', file])).toMatchObject({ code: 0, stdout: '' })
})

test.each([
  [`delete from change_record where partner = 'boda' and kind = 'create'`, 'change_record ID boda is missing'],
  [
    `update change_record set actor = 'x', client_id = '${'y'.repeat(16)}' where partner = 'acme' and kind = 'create'`,
    'change_record ID acme differs in actor, client_id',
  ],
  [
    `update change_record set secrets = '[]' where partner = 'acme' and kind = 'create'`,
    'change_record ID acme differs in secrets',
  ],
  ['delete from plan_versions where publication_id = 1 and plan_id = 2', 'plan_versions 1 0 2 is missing'],
  [
    `update plan_versions set viewable_in = '["UG"]' where publication_id = 2`,
    'plan_versions 2 ID 1 differs in viewable_in',
  ],
  ['update plan_versions set superseded = 0', 'plan_versions 1 0 1 differs in superseded'],
  ['delete from publications where id = 2', 'publications 2 is missing\nplan_versions 2 ID 1 is missing'],
  [`update publications set revision = 5 where id = 1`, 'publications 1 differs in revision'],
  [`update publications set decided_by = 'x' where id = 1`, 'publications 1 differs in decided_by'],
  [`update publications set state = 'waiting' where id = 4`, 'publications 4 differs in state'],
  [`update publications set note = 'x', due_at = 1 where id = 4`, 'publications 4 differs in note, due_at'],
  [
    `update publications set state = 'cancelled', decided_by = 'x', plan_count = 0 where id = 4`,
    'publications 4 differs in plan_count',
  ],
  [`update catalog set name = 'x'`, 'catalog 1 differs in name'],
])('%s: %s', async (statement, line) => {
  await run(['copy', '--force', file])
  await execute(statement)
  const { code, stdout } = await run(['compare', file])
  // The ID of a change is a time.
  expect({ code, stdout: stdout.replace(/\b\d{13}\b/, 'ID') }).toEqual({ code: 3, stdout: `${line}\n` })
})

const other = join(folder, 'other.db')
test.each([
  `attach '${other}' as other`,
  `vacuum into '${other}'`,
  `commit; vacuum into '${other}'`,
  'rollback',
  'savepoint a',
  'pragma writable_schema = on',
  'create trigger a after insert on catalog begin select 1; end',
  'create temp trigger a after insert on catalog begin select 1; end',
  'create view a as select 1',
  'create temp table a (b)',
  'create table a as select 1',
  'create virtual table a using fts5(b)',
  `select load_extension('${other}')`,
  `insert into partner_contacts values (load_extension('${other}'), 'x')`,
  'insert into partner_contacts select 1, hex(value) from json_each(1)',
  'with recursive a(b) as (select 1 union all select b + 1 from a limit 5) insert into catalog select b, b from a',
  'create index a on catalog (hex(name))',
  'create table a (b, c as (randomblob(b))); insert into a values (1)',
  `create table a (b default (load_extension('${other}'))); insert into a default values`,
  `insert into catalog values (1, 'x') on conflict do update set name = 'x'`,
  'update catalog set name = 1',
  'delete from catalog',
  'drop table catalog',
  'alter table catalog rename to a',
  'analyze',
  'explain select 1',
])('a copy may only make tables, indexes and rows: %s', async (statement) => {
  await run(['copy', '--force', file])
  await appendFile(file, `${statement};\n`)
  expect(await run(['compare', file])).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      `^${file} is damaged, or is no database copy: .*(?:it may have only|unsafe use|cannot VACUUM)`,
    ),
  })
  expect(await readdir(folder)).toEqual(['kept.sql'])
})

test('a trigger of the database is named, and does not run', async () => {
  await run(['copy', '--force', file])
  await execute('create trigger secretly after insert on catalog begin select 1; end')
  const { code, stderr } = await run(['compare', file])
  await execute('drop trigger secretly')
  expect(code).toBe(2)
  expect(stderr).toMatch(/^The database is damaged: .* about "secretly" is refused\./)
})

test.each([
  [
    'a copy that was cut off',
    `create table catalog (id integer);\n`,
    /kept\.sql is damaged, or is no database copy: .*no such table: publications\.\n$/,
  ],
  ['another file', '{"plans": []}\n', /kept\.sql is damaged, or is no database copy: /],
  [
    'a table without its columns',
    'create table catalog (id);\ncreate table publications (id);\n',
    /no such column: publications.state/,
  ],
  [
    'a number that is too large',
    'create table catalog (id, name);\ninsert into catalog values (9223372036854775807, 1);\n',
    /kept\.sql is damaged, or is no database copy: /,
  ],
])('%s is refused', async (_, text, message) => {
  await writeFile(file, text)
  expect(await run(['compare', file])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
})

test('a database without tables does not make the copy look damaged', async () => {
  await run(['copy', '--force', file])
  const { bindings: emptyBindings, close } = openMemoryBindings()
  for (const table of ['partner_contacts', 'plan_versions', 'publications', 'change_record', 'catalog']) {
    await emptyBindings.DB.prepare(`drop table ${table}`).run()
  }
  const isNotMigrated = (error: unknown) => !(error instanceof UserError) && isCausedBy(error, outdatedSchema)
  await expect(findLostRows(openBindingStore(emptyBindings), file).finally(close)).rejects.toSatisfy(isNotMigrated)
})
