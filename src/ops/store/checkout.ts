// This checkout: who works on it, and whether everything is committed.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** @returns git's `user.email`; undefined without git, or when no address is set. */
export async function readGitEmail(): Promise<string | undefined> {
  return (await readGit('config', 'user.email')) || undefined
}

/** Returns whether every file is committed: only then does the commit say what a deploy contains. */
export async function isCleanCheckout(): Promise<boolean> {
  return (await readGit('status', '--porcelain')) === ''
}

/** Runs git. @returns what it prints; undefined when it fails. */
async function readGit(...args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', args)
    return stdout.trim()
  } catch {
    return undefined
  }
}
