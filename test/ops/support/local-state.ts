// A local state folder as wrangler makes it. Node only, and slow: it runs wrangler as a program.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { runFile } from '../../support/run-file.ts'
import { runCommand } from './run-ops.ts'

const state = await mkdtemp(join(tmpdir(), 'catalog-'))

/** Migrates a new state folder before the first test of a file, and deletes it after the last. */
export function useLocalState(): string {
  beforeAll(async () => {
    await runFile('npm', ['run', '-s', 'migrate', '--', '--persist-to', state])
  })
  afterAll(() => rm(state, { recursive: true }))
  return state
}

/** Runs a command line in this process, on that folder. */
export const runOnState = (...args: string[]) => runCommand([...args, '--persist-to', state])
