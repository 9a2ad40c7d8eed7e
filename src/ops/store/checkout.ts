// This checkout: who works on it, and which version it is.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { parseJson, readPath } from '../../json.ts'

/** @returns the e-mail address that git signs commits with; undefined without git, or when no address is set. */
export function readGitEmail(): Promise<string | undefined> {
  return readGit('config', 'user.email')
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
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
