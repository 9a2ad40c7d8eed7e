import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unstable_splitSqlQuery as splitSqlQuery } from 'wrangler'
import { splitOnServer } from './split-on-server.ts'

const root = join(import.meta.dirname, '../..')
const ledger = `\nINSERT INTO "d1_migrations" (name)\nvalues ('0001.sql');`

/** Whether D1 would run the statements that the text has. */
async function isUnderstood(text: string): Promise<boolean> {
  const parts = await splitOnServer(text).catch(() => [])
  const expected = splitSqlQuery(text)
  return parts.length === expected.length && parts.every((part, index) => part.trim() === expected[index])
}

test.each(globSync('migrations/*.sql', { cwd: root }))('%s is understood', async (file) => {
  expect(await isUnderstood(readFileSync(join(root, file), 'utf8') + ledger)).toBe(true)
})

test.each([
  ['two statements', 'SELECT 1;\nSELECT 2;', true],
  ['a body with statements', 'CREATE TRIGGER kept BEFORE DELETE ON plans\nBEGIN\n  SELECT 1;\nEND;', false],
  ['a semicolon in a comment', 'SELECT 1;\n-- One; two.\nSELECT 2;', false],
  ['an apostrophe in a comment', "-- A partner's plans.\nSELECT 1;\nSELECT 'x';", false],
])('%s', async (_, text, expected) => {
  expect(await isUnderstood(text + ledger)).toBe(expected)
})
