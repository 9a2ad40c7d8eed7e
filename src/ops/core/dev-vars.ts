// The signing keys of a local Worker: JWT_KEYS in .dev.vars, where wrangler looks for it.
import { readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { importSigningKeys, type OctJwk } from '../../crypto/signing-keys.ts'
import { isJsonObject } from '../../json.ts'
import { UserError } from './user-error.ts'

export const devVarsFile = '.dev.vars'

/**
 * The keys as they are in the file, the signing one first; none where the file has none.
 * @throws UserError when JWT_KEYS is no set of keys that the Worker could use.
 */
export async function readKeys(file: string): Promise<OctJwk[]> {
  const { JWT_KEYS } = parseEnv(await readText(file))
  if (!JWT_KEYS) return []
  try {
    await importSigningKeys(JWT_KEYS)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'can’t be read'
    throw new UserError(`JWT_KEYS in ${file} is wrong: ${reason}. Delete its line there for a new key.`)
  }
  const set: { keys: OctJwk[] } = JSON.parse(JWT_KEYS)
  return set.keys
}

/**
 * Leaves everything else in the file as it is. A reader sees the old file or the new one, which only its owner reads.
 * @throws UserError when the file is of a form in which JWT_KEYS can't be replaced, or can't be written.
 */
export async function writeKeys(file: string, keys: readonly OctJwk[]): Promise<void> {
  const text = await readText(file)
  const set = JSON.stringify({ keys }).replaceAll("'", String.raw`\u0027`)
  const line = `JWT_KEYS='${set}'`
  const assignment = /^[ \t]*(?:export[ \t]+)?JWT_KEYS[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`|.*)[^\n]*$/m
  const separator = text === '' || text.endsWith('\n') ? '' : '\n'
  const changed = assignment.test(text) ? text.replace(assignment, () => line) : `${text}${separator}${line}\n`
  // Where JWT_KEYS stands twice, or within another value.
  if (parseEnv(changed)['JWT_KEYS'] !== set) {
    throw new UserError(
      `JWT_KEYS in ${file} can't be replaced: leave one line of it there, or delete it for a new key.`,
    )
  }
  try {
    const target = await realpath(file).catch(() => file)
    const draft = `${target}.${process.pid}`
    await writeFile(draft, changed, { encoding, mode: 0o600, flush: true })
    await rename(draft, target)
  } catch (error) {
    throw new UserError(`Can't write ${file} (${codeOf(error)}).`)
  }
}

/** Byte for byte: what is not ours may be in any encoding. */
const encoding = 'latin1'

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, encoding)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw new UserError(`Can't read ${file} (${codeOf(error)}).`)
  }
}

function codeOf(error: unknown): string {
  return isJsonObject(error) ? String(error['code']) : 'unknown error'
}
