// The migrations of this checkout, and applying them to a local state with wrangler.
import { readdir } from 'node:fs/promises'
import { UserError } from '../shared/user-error.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** @returns the names of the files of this checkout, in their order. */
export async function listMigrationFiles(): Promise<string[]> {
  return (await readdir('migrations')).filter((name) => name.endsWith('.sql')).toSorted()
}

/** @throws UserError that quotes wrangler's output. */
export async function applyLocalMigrations(persistTo: string | undefined): Promise<void> {
  const state = persistTo === undefined ? [] : ['--persist-to', persistTo]
  const args = ['d1', 'migrations', 'apply', 'DB', '--local', '--env', '', ...state]
  const { exitCode, output } = await finishWrangler(startWrangler(args, ['ignore', 'pipe', 'pipe']))
  if (exitCode !== 0) throw new UserError([output, describeFailedMigration(persistTo)])
}

/** A local state may be of another schema. */
export function describeFailedMigration(persistTo: string | undefined): string {
  return `The local database could not be migrated. To start afresh, delete it: rm -r ${persistTo ?? '.wrangler/state'}`
}
