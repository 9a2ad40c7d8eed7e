import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listPartners } from '../../../src/ops/core/partners/partner-accounts.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { withLocalStore } from '../../../src/ops/store/local-store.ts'
import { createFolder } from '../../support/temporary-folder.ts'

test.each(['nowhere', '.'])('a state folder without a database is refused: %s', async (path) => {
  const state = join(await createFolder(), path)
  await expect(withLocalStore({ persistTo: state }, async () => {})).rejects.toThrow(
    new UserError(
      `There is no local database in ${state}. If npm run dev uses --persist-to, pass the same folder.\nOtherwise create it: npm run migrate -- --local --persist-to ${state}`,
    ),
  )
})

test('a file in the place of a folder is refused', async () => {
  const folder = await createFolder()
  await mkdir(join(folder, 'v3/d1'), { recursive: true })
  await writeFile(join(folder, 'v3/kv'), '')
  await expect(withLocalStore({ persistTo: folder }, listPartners)).rejects.toThrow(
    /^The local state in .* can't be used: .*\/kv.*\n.* disk is full.*\n.* move the folder away, and create a new one: /,
  )
})
