// The migrations of this checkout: which of them a deployed database lacks, and applying them with wrangler.
import { readdir } from 'node:fs/promises'
import { selectMigrations } from '../../db/health-queries.ts'
import { UserError } from '../shared/user-error.ts'
import { withRemoteStore } from './remote-store.ts'
import { describeMigration, type Target } from '../shared/target.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** @returns the names of the files of this checkout, in their order. */
export async function listMigrationFiles(): Promise<string[]> {
  return (await readdir('migrations')).filter((name) => name.endsWith('.sql')).toSorted()
}

/**
 * @returns the names of the files, in their order.
 * @throws UserError when the database can't be read.
 */
export async function listPendingMigrations(target: Target): Promise<string[]> {
  const applied = new Set(await withRemoteStore(target, ({ read }) => selectMigrations(read)))
  return (await listMigrationFiles()).filter((name) => !applied.has(name))
}

/** @throws UserError that quotes wrangler's output. */
export async function applyMigrations(target: Target): Promise<void> {
  const { remote, env = '', persistTo } = target
  const state = persistTo === undefined ? [] : ['--persist-to', persistTo]
  const args = ['d1', 'migrations', 'apply', 'DB', remote ? '--remote' : '--local', '--env', env, ...state]
  const { exitCode, output } = await finishWrangler(startWrangler(args, ['ignore', 'pipe', 'pipe']))
  if (exitCode === 0) return
  throw new UserError([
    output,
    `The database could not be migrated. Try again: ${describeMigration(target)}`,
    'If D1 refuses the text of a migration, see "When D1 refuses a migration" in src/worker/DEPLOY.md.',
  ])
}
