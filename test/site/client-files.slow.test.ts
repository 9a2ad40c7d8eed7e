import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeClients } from '../../src/site/client-files.ts'
import { createFolder } from '../support/temporary-folder.ts'

async function write() {
  const folder = await createFolder()
  await mkdir(join(folder, 'client'))
  return writeClients(folder)
}

// `npm ci` refuses another file than the one that it installed before.
test('a new build of a version of the package has the same checksum', async () => {
  expect(await write()).toEqual(await write())
})
