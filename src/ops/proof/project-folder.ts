// A copy of the project for the programs that the proof runs: they write IDs into its wrangler.toml, not into the user's.
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** What a deploy reads. */
const parts = ['src', 'migrations', 'package.json', 'tsconfig.json', 'wrangler.toml']

/** Works in a copy of the project, and deletes it. @param work gets a folder that only this user may read. */
export async function withProjectCopy<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const project = process.cwd()
  const folder = await mkdtemp(join(tmpdir(), 'proof-'))
  try {
    for (const part of parts) await cp(join(project, part), join(folder, part), { recursive: true })
    await symlink(resolve(project, 'node_modules'), join(folder, 'node_modules'))
    process.chdir(folder)
    return await work(folder)
  } finally {
    process.chdir(project)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}
