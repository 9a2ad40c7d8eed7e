// Kills a process while it imports. The catalog must be the old one or the new one, never a mixture. IMPORT_KILLS is the
// number of kills, 4 by default.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { deleteAbandonedPublications } from '../../src/db/stage-publication.ts'
import { formatCatalog } from '../../src/ops/core/file-formats/catalog-file.ts'
import { withLocalStore } from '../../src/ops/store/local-store.ts'
import { makePlan } from '../support/make-plan.ts'
import { runOnState, useLocalState } from './support/local-state.ts'

const state = useLocalState()

const main = resolve(import.meta.dirname, '../../src/ops/main.mjs')
const times = Number(process.env['IMPORT_KILLS'] ?? 4)

/** Runs in its own process group, which includes the runtime of the store. */
async function importInProcess(
  file: string,
  killAfterMs?: number,
): Promise<{ exitCode: number | null; tookMs: number }> {
  const startMs = performance.now()
  const args = ['catalog', 'import', join(state, file), '--prune', '--persist-to', state]
  const child = spawn(process.execPath, [main, ...args], { detached: true, stdio: 'ignore' })
  const timer = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), killAfterMs ?? 60_000)
  const [exitCode] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  return { exitCode, tookMs: performance.now() - startMs }
}

/** Without the revision. */
async function exportPlans(): Promise<string> {
  const { plans } = JSON.parse((await runOnState('catalog', 'export')).stdout)
  return formatCatalog(plans)
}

test(`an import that is killed ${times} times never leaves a mixture`, async () => {
  const files = ['a.json', 'b.json']
  const catalogs = files.map((file, index) =>
    formatCatalog(
      // Half of the plans are in both files, with different fields.
      Array.from({ length: 400 }, (_, id) => makePlan({ id: id + 200 * index, name: file, about: file.repeat(400) })),
    ),
  )
  for (const [index, file] of files.entries()) await writeFile(join(state, file), catalogs[index] ?? '')
  const { exitCode, tookMs } = await importInProcess('a.json')
  expect(exitCode).toBe(0)

  const seen = new Map<number | null, number>()
  for (let count = 0; count < times; count++) {
    const current = catalogs.indexOf(await exportPlans())
    expect(current).not.toBe(-1)
    // In the first two fifths of its time, the process has not opened the store.
    const { exitCode: code } = await importInProcess(files[1 - current] ?? '', tookMs * (0.4 + 0.65 * Math.random()))
    seen.set(code, (seen.get(code) ?? 0) + 1)
  }
  expect(catalogs).toContain(await exportPlans())
  expect(seen.get(null)).toBeGreaterThan(0)

  // After an hour, the schedule deletes what a killed import has staged.
  const staged = await withLocalStore({ persistTo: state }, async ({ db }) => {
    await db.run(sql`update publications set created_at = 0 where state = 'staging'`)
    await deleteAbandonedPublications(db)
    return db.values(sql`select id from publications where state = 'staging'`)
  })
  expect(staged).toEqual([])
})
