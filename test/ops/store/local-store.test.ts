import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { describeSystemError, findFolderProblem } from '../../../src/ops/store/system-error.ts'
import { withLocalStore } from '../../../src/ops/store/local-store.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
})
afterEach(() => rm(folder, { recursive: true }))

test.each(['nowhere', '.'])('a state folder without a database is refused: %s', async (path) => {
  const state = join(folder, path)
  await expect(withLocalStore({ persistTo: state }, async () => {})).rejects.toThrow(
    new UserError(
      `There is no local database in ${state}. If npm run dev uses --persist-to, pass the same folder. Otherwise create it: npm run migrate -- --local --persist-to ${state}`,
    ),
  )
})

test('a file in the place of the state folder is refused', async () => {
  const state = join(folder, 'file')
  await writeFile(state, '')
  await expect(withLocalStore({ persistTo: state }, async () => {})).rejects.toThrow(
    /^The local state in .* can't be used: .* \(.*\/file.*\)\. Fix that and try again, or .*$/,
  )
})

test('findFolderProblem finds none in a folder that can be used, or that does not exist', () => {
  expect(findFolderProblem([folder, join(folder, 'nowhere')])).toBeUndefined()
})

test('findFolderProblem finds a folder that may not be written', async () => {
  await mkdir(join(folder, 'v3'), { mode: 0o500 })
  // The superuser may write everywhere but to the kernel's own files.
  const path = process.getuid?.() === 0 ? '/proc/self' : join(folder, 'v3')
  expect(findFolderProblem([path])).toMatch(/^(you have no permission|it is on a read-only file system|.* failed)/)
})

const systemError = { syscall: 'mkdir', path: '/home/x/.config' }

test.each([
  [{ ...systemError, code: 'EACCES' }, 'you have no permission (/home/x/.config)'],
  [{ ...systemError, code: 'EIO' }, 'mkdir failed, EIO (/home/x/.config)'],
  [{ code: 'ENOSPC', syscall: 'write' }, 'the disk is full'],
  [{ code: 'ERR_INVALID_ARG_TYPE' }, undefined],
])('describeSystemError names the reason and the path of %j', (error, reason) => {
  expect(describeSystemError(error)).toBe(reason)
})
