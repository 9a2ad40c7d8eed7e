import { chmod, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeOutput, writePrivateFile } from '../../../src/ops/store/write-output.ts'
import { createFolder } from '../../support/temporary-folder.ts'

const folder = await createFolder(afterAll)
const [file, link] = [join(folder, 'file'), join(folder, 'link')]

async function* pieces() {
  yield 'new'
}

test.each([
  ['keeps the mode of a file', 0o600, () => writeOutput(file, 'new'), 0o600],
  ['keeps a mode that the umask would limit', 0o666, () => writeOutput(link, 'new'), 0o666],
  ['follows a link', 0o640, () => writeOutput(link, 'new'), 0o640],
  ['makes a copy private, also behind a link', 0o644, () => writePrivateFile(link, pieces()), 0o600],
])('%s', async (_, before, write, after) => {
  await writeFile(file, 'old')
  await chmod(file, before)
  await rm(link, { force: true })
  await symlink('file', link)
  await write()
  expect([await readFile(file, 'utf8'), (await stat(file)).mode % 0o1000]).toEqual(['new', after])
  expect([await readlink(link), await readdir(folder)]).toEqual(['file', ['file', 'link']])
})
