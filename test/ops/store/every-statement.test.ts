// Every statement of src/db takes effect once, also when it arrives twice.
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { deliver, openTextDatabase } from '../../support/text-database.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { runEveryStatement } from '../support/every-statement.ts'

const bindings = useMemoryBindings()

// The last one repeats each write after it took effect.
test.each(['once', 'twice', 'answer lost'] as const)('every statement of src/db, each write %s', async (mode) => {
  const { DB } = bindings()
  await emptyDatabase(bindings())
  const recorded = await runEveryStatement(openTextDatabase(DB, deliver(mode)), DB, mode)
  expect(recorded).toEqual(['create', 'rotate', 'keys-rotate'])
})

test('the tests above call every function of src/db with a statement', () => {
  const folder = resolve(import.meta.dirname, '../../../src/db')
  const sources = globSync('*.ts', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
  const names = sources.flatMap((source) =>
    [...source.matchAll(/^export (?:async )?function\*? (\w+)\(\s*(?:db|d1)\b/gm)].map(([, name = '']) => name),
  )
  const openers = ['openDatabase', 'readRows', 'makeNewestVersionsTable']
  // selectChanges calls the first one, selectPublished the second, publishAs the next ones, stageChanges two, and selectCatalog the last one.
  const publishing = [
    'publishIfNewest',
    'updatePublicationIf',
    'publishPending',
    'compareStaged',
    'comparePublication',
    'compareAndMerge',
    'stageUnchangedPlans',
  ]
  const indirect = [
    'selectChangesByPublication',
    'selectPublications',
    ...publishing,
    'stagePublication',
    'stagePlans',
    'readAtOneRevision',
  ]
  const others = new Set([...openers, ...indirect])
  const calls = readFileSync(join(import.meta.dirname, '../support/every-statement.ts'), 'utf8')
  expect(names.filter((name) => !others.has(name) && !calls.includes(`${name}(`))).toEqual([])
  expect(names.length).toBeGreaterThan(30)
})
