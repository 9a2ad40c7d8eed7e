// The signing keys of a local Worker: JWT_KEYS in .dev.vars, where wrangler looks for it.
import { existsSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { importSigningKeys, type OctJwk } from '../auth/signing-keys.ts'
import { isJsonObject } from '../json.ts'
import { UserError } from './user-error.ts'

/** `.dev.vars.staging` stands in for `.dev.vars` where it exists, as in wrangler. */
export function devVarsFile(env: string | undefined): string {
  const file = `.dev.vars.${env}`
  return env && existsSync(file) ? file : '.dev.vars'
}

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

/** Leaves everything else in the file as it is. A reader sees the old file or the new one, which only its owner reads. */
export async function writeKeys(file: string, keys: readonly OctJwk[]): Promise<void> {
  const text = await readText(file)
  const line = `JWT_KEYS='${JSON.stringify({ keys })}'`
  const assignment = /^[ \t]*(?:export[ \t]+)?JWT_KEYS[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`|.*)[^\n]*$/m
  const separator = text === '' || text.endsWith('\n') ? '' : '\n'
  const changed = assignment.test(text) ? text.replace(assignment, () => line) : `${text}${separator}${line}\n`
  const draft = `${file}.${process.pid}`
  {
    await using handle = await open(draft, 'w', 0o600)
    await handle.writeFile(changed)
    await handle.sync()
  }
  await rename(draft, file)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = isJsonObject(error) ? error['code'] : undefined
    if (code === 'ENOENT') return ''
    throw new UserError(`Can't read ${file} (${String(code)}).`)
  }
}
