// This checkout: who works on it, and which version it is.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { parseJson, readPath } from '../../json.ts'

/** @returns the e-mail address that git signs commits with; undefined without git, or when no address is set. */
export async function readGitEmail(): Promise<string | undefined> {
  return (await readGit('config', 'user.email')) || undefined
}

/** Whether this folder is a commit, so that a deploy of it can be traced. */
export async function isCleanCheckout(): Promise<boolean> {
  return (await readGit('status', '--porcelain')) === ''
}

/** @returns `0.1.0 (1a2b3c4)`: the version of package.json, and git's commit. */
export async function readVersion(): Promise<string> {
  const commit = await readGit('rev-parse', '--short', 'HEAD')
  const version = String(readPath(parseJson(await readFile('package.json', 'utf8')), 'version'))
  return commit === undefined ? version : `${version} (${commit})`
}

async function readGit(...args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', args)
    return stdout.trim()
  } catch {
    return undefined
  }
}
