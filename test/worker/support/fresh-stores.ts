// Runs before each test file. All files share one workerd, so each begins with empty stores and an isolate that caches nothing.
import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, vi } from 'vitest'
import { startNewIsolate } from './isolate.ts'

const countTables = `select count(*) from sqlite_master where name not glob '_cf_*' and name not glob 'sqlite_*'`

// On a busy machine, tables of the file before can still be there after reset().
for (let attempt = 0; attempt === 0 || (await env.DB.prepare(countTables).first('count(*)')) !== 0; attempt++) {
  if (attempt === 100) throw new Error('the database could not be emptied')
  await reset()
}
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
startNewIsolate()

// No test sees the mocks or the clock of the test before.
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})
