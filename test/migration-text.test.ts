// The text of the migrations. D1 splits a file into statements on its server, and some forms that SQLite takes fail there.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const files = globSync('migrations/*.sql', { cwd: root })
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const forbiddenForms: [name: string, isForbidden: (code: string, comment: string) => boolean][] = [
  ['an apostrophe or a semicolon in a comment', (_, comment) => /[';]/.test(comment)],
  ['a block comment', (code) => code.includes('/*')],
  ['BEGIN, CASE or END', (code) => /\b(?:begin|case|end)\b/i.test(code)],
  ['a line that ends with CR', (code, comment) => `${code}${comment}`.endsWith('\r')],
]

function findForbiddenForms(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const [code = ''] = line.split('--')
    const comment = line.slice(code.length)
    const found = forbiddenForms.filter(([, isForbidden]) => isForbidden(code.replaceAll(/'[^']*'/g, `''`), comment))
    return found.map(([name]) => `line ${index + 1} has ${name}`)
  })
}

test.each(files)('%s has no form that D1 might split wrongly', (file) => {
  expect(findForbiddenForms(read(file))).toEqual([])
})

test.each([
  ["-- A partner's plans.", 'an apostrophe or a semicolon in a comment'],
  ['SELECT 1; -- One; two.', 'an apostrophe or a semicolon in a comment'],
  ['/* Plans. */', 'a block comment'],
  ['CREATE TRIGGER a AFTER DELETE ON b begin', 'BEGIN, CASE or END'],
  ['-- Plans.\r', 'a line that ends with CR'],
])('the check finds %j', (line, name) => {
  expect(findForbiddenForms(`SELECT 1;\n${line}\n`)).toEqual([`line 2 has ${name}`])
})
