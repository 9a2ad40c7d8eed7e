import { existsSync } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { buildSite } from '../../src/site/build-site.ts'
import { createFolder } from '../support/temporary-folder.ts'

test('a build replaces an earlier one without taking the folder or a file away', async () => {
  const parent = await createFolder()
  const folder = join(parent, 'site')
  await buildSite(folder)
  const { ino } = await stat(folder)
  const files = await readdir(folder, { recursive: true })
  expect(files).toContain('index.html')
  await writeFile(join(folder, 'stale.html'), '')

  const missing = new Set<string>()
  const end = new AbortController()
  const build = buildSite(folder).finally(() => end.abort())
  while (!end.signal.aborted) {
    for (const file of files) if (!existsSync(join(folder, file))) missing.add(file)
    await setImmediate()
  }
  await build
  expect([...missing]).toEqual([])
  expect((await stat(folder)).ino).toBe(ino)
  expect((await readdir(folder, { recursive: true })).toSorted()).toEqual(files.toSorted())
  expect(await readdir(parent)).toEqual(['site'])
})
