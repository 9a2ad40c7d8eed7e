import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** @param atEnd registers its removal: `afterAll` where no test runs. */
export async function createFolder(atEnd: (remove: () => Promise<void>) => void = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  atEnd(() => rm(folder, { recursive: true }))
  return folder
}
