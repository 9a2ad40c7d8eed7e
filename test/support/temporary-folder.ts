import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates a folder that is removed when the test ends. @param atEnd registers the removal: pass `afterAll` outside of a test. */
export async function createFolder(atEnd: (remove: () => Promise<void>) => void = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  atEnd(() => rm(folder, { recursive: true }))
  return folder
}
