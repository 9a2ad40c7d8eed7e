// Which migrations a deployed database lacks, and applying them with wrangler.
import { readdir } from 'node:fs/promises'
import { isJsonObject } from '../../json.ts'
import { UserError } from '../core/user-error.ts'
import { CloudflareError, type Call } from './cloudflare-api.ts'
import { describeMigration, type Target } from './target.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** Wrangler's own table. */
const selectApplied = 'SELECT name FROM d1_migrations'

/** @returns the names of the files, in their order. */
export async function listPendingMigrations(call: Call, databaseId: string): Promise<string[]> {
  const files = (await readdir('migrations')).filter((name) => name.endsWith('.sql')).toSorted()
  const applied = new Set(await listAppliedMigrations(call, databaseId))
  return files.filter((name) => !applied.has(name))
}

async function listAppliedMigrations(call: Call, databaseId: string): Promise<unknown[]> {
  try {
    const result = await call('POST', `/d1/database/${databaseId}/query`, { sql: selectApplied, params: [] })
    const [first]: unknown[] = Array.isArray(result) ? result : []
    const rows: unknown = isJsonObject(first) ? first['results'] : undefined
    if (!Array.isArray(rows)) throw new CloudflareError('Cloudflare answered a query without rows.')
    return rows.map((row) => (isJsonObject(row) ? row['name'] : undefined))
  } catch (error) {
    if (error instanceof CloudflareError && error.message.includes('no such table')) return []
    throw error
  }
}

/** @throws UserError that quotes wrangler's output. */
export async function applyMigrations(target: Target): Promise<void> {
  const args = ['d1', 'migrations', 'apply', 'DB', '--remote', '--env', target.env ?? '']
  const { exitCode, output } = await finishWrangler(startWrangler(args, ['ignore', 'pipe', 'pipe']))
  if (exitCode === 0) return
  throw new UserError([output, `The database could not be migrated. Try again: ${describeMigration(target)}`])
}
