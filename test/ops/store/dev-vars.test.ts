import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { openDevVars } from '../../../src/ops/store/dev-vars.ts'
import { createFolder } from '../../support/temporary-folder.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await createFolder()
  file = join(folder, '.dev.vars')
})

const put = (secrets: Record<string, string | null>) => openDevVars(file).put(secrets)
const read = () => readFile(file, 'utf8')

test('there is no secret while there is no file; the first one makes a file that only its owner can read', async () => {
  expect(await openDevVars(file).list()).toEqual({ live: [], latest: [] })
  await put({ JWT_KEY_1: 'one' })
  expect(await read()).toBe('JWT_KEY_1=one\n')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await openDevVars(file).list()).toEqual({ live: ['JWT_KEY_1'], latest: ['JWT_KEY_1'] })
})

test.each([
  ['in quotes', `OLD='x'\n`],
  ['exported', '  export OLD = x\n'],
  ['with a comment after it', 'OLD=x # mine\n'],
  ['without a line feed', 'OLD=x'],
])('a secret %s is deleted, and the rest of the file does not change', async (_, line) => {
  const others = '# Comment\nOTHER="$& $1"\n\n'
  await writeFile(file, `${others}${line}`)
  await put({ OLD: null, NEW: 'y' })
  expect(await read()).toBe(`${others}NEW=y\n`)
})

test('a secret is added after a line without a line feed, behind a symbolic link', async () => {
  const target = join(folder, 'elsewhere')
  await writeFile(target, 'NAME=café')
  await symlink(target, file)
  await put({ NEW: 'y' })
  expect(await readFile(target, 'utf8')).toBe('NAME=café\nNEW=y\n')
})

test('a line inside another value is refused, and does not change', async () => {
  const text = 'NOTE="first\nOLD=inside\nlast"\nOLD=x\n'
  await writeFile(file, text)
  const problem = `The keys in ${file} can't be changed: keep each variable on one line.`
  await expect(put({ OLD: null })).rejects.toThrow(new UserError(problem))
  expect(await read()).toBe(text)
})

test('a folder that can’t be written is refused', async () => {
  file = join(folder, 'missing', '.dev.vars')
  await expect(put({ NEW: 'y' })).rejects.toThrow(/^Can't write .*: no such file or directory\.$/)
})
