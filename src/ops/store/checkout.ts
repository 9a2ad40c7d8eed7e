// This checkout: who works on it, and whether everything is committed.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** @returns the e-mail address that git signs commits with; undefined without git, or when no address is set. */
export async function readGitEmail(): Promise<string | undefined> {
  return (await readGit('config', 'user.email')) || undefined
}

/** Whether this folder is a commit, so that a deploy of it can be traced. */
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
