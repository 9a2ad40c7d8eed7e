// Asks git about this checkout.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** @returns git's `user.email`; undefined without git, or when no address is set. */
export async function readGitEmail(): Promise<string | undefined> {
  return (await readGit('config', 'user.email')) || undefined
}

/** Tells if git finds no changed and no new file, so that a deploy contains exactly the commit. Returns false without git. */
export async function isCleanCheckout(): Promise<boolean> {
  return (await readGit('status', '--porcelain')) === ''
}

async function readGit(...args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', args)
    return stdout.trim()
  } catch {
    return undefined
  }
}
