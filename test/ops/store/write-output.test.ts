import { readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownerOnly, writeOutput } from '../../../src/ops/store/write-output.ts'
import { createFolder } from '../../support/temporary-folder.ts'

async function* pieces(error?: Error) {
  yield 'new'
  if (error) throw error
}

test('a file is replaced by one that only its owner can read, and a link is followed', async () => {
  const folder = await createFolder()
  const [file, link] = [join(folder, 'file'), join(folder, 'link')]
  await writeFile(file, 'old', { mode: 0o644 })
  await writeOutput(file, pieces(), ownerOnly)
  expect(await readFile(file, 'utf8')).toBe('new')
  expect((await stat(file)).mode % 0o1000).toBe(0o600)
  await symlink('file', link)
  await writeOutput(link, 'newer')
  expect(await readFile(file, 'utf8')).toBe('newer')
  expect(await readdir(folder)).toEqual(['file', 'link'])
  expect((await stat(file)).mode % 0o1000).toBe(0o600)
})

test('a file stays as it is when its content fails, also behind a link', async () => {
  const folder = await createFolder()
  const [file, link] = [join(folder, 'file'), join(folder, 'link')]
  await writeFile(file, 'old')
  await symlink('file', link)
  for (const name of [file, link]) {
    await expect(writeOutput(name, pieces(new Error('no database')))).rejects.toThrow('no database')
  }
  expect(await readFile(file, 'utf8')).toBe('old')
  expect(await readdir(folder)).toEqual(['file', 'link'])
})
