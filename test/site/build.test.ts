import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { buildSite } from '../../src/site/build-site.ts'

test.each(['deploy', 'versions upload'])('wrangler %s fails without the origin of the service', async (command) => {
  const env = { ...process.env, WRANGLER_COMMAND: command, SITE_ORIGIN: '' }
  const build = promisify(execFile)(process.execPath, ['src/site/build-site.ts'], { env })
  await expect(build).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^SITE_ORIGIN is not set, .*"npm run deploy .*\n$/) as string,
  })
})

test('a build replaces an earlier one without taking the folder or a file away', { timeout: 60_000 }, async () => {
  const parent = await mkdtemp(join(tmpdir(), 'site-'))
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
  await rm(parent, { recursive: true })
})
