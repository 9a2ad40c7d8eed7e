// The e-mail address that git signs commits with.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** @returns undefined without git, or when no address is set. */
export async function readGitEmail(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', ['config', 'user.email'])
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
