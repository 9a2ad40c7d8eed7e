// The signing keys of a local Worker: JWT_KEYS in .dev.vars, where wrangler looks for it.
import { open, readFile, realpath, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { importSigningKeys, type OctJwk } from '../../crypto/signing-keys.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'
import { writePrivateFile } from './write-output.ts'

export const devVarsFile = '.dev.vars'

export interface KeyFile {
  /** The signing key first; none when there is no file. */
  read: () => Promise<OctJwk[]>
  /** Changes the keys of now: no other program changes the file in between. */
  update: (change: (known: readonly OctJwk[]) => readonly OctJwk[]) => Promise<void>
}

export function openDevVars(file: string): KeyFile {
  return {
    read: () => readKeys(file),
    update: (change) => withLock(file, async () => writeKeys(file, change(await readKeys(file)))),
  }
}

const lockWaitMs = 5000

/**
 * Runs `work` while no other program does so for the same file.
 * @throws UserError when another program holds the lock for seconds: it takes milliseconds, so it was probably killed.
 */
async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${await realpath(file).catch(() => file)}.lock`
  const endMs = performance.now() + lockWaitMs
  while (!(await createLock(lock, file))) {
    if (performance.now() > endMs) {
      throw new UserError(`Another program is changing ${file}. Try again; if there is none, delete ${lock} first.`)
    }
    await sleep(20 + 30 * Math.random())
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

/** @returns false while there is one. */
async function createLock(lock: string, file: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx')).close()
    return true
  } catch (error) {
    if (readPath(error, 'code') === 'EEXIST') return false
    throw new UserError(`Can't write ${file}: ${findReason(error)}.`)
  }
}

/**
 * Returns the file's keys, the signing key first, or [] if it has none.
 * @throws UserError when the Worker could not use JWT_KEYS.
 */
async function readKeys(file: string): Promise<OctJwk[]> {
  const { JWT_KEYS } = parseEnv(await readText(file))
  if (!JWT_KEYS) return []
  try {
    await importSigningKeys(JWT_KEYS)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it can’t be read'
    throw new UserError(`JWT_KEYS in ${file} is wrong: ${reason}. Delete that line to get a new key.`)
  }
  const set: { keys: OctJwk[] } = JSON.parse(JWT_KEYS)
  return set.keys
}

/**
 * Replaces JWT_KEYS and leaves the rest of the file unchanged. A concurrent reader sees the old file or the new one. Only
 * the owner may read the new one.
 * @throws UserError when JWT_KEYS can't be replaced safely, or the file can't be written.
 */
async function writeKeys(file: string, keys: readonly OctJwk[]): Promise<void> {
  const text = await readText(file)
  const set = JSON.stringify({ keys }).replaceAll("'", String.raw`\u0027`)
  const line = `JWT_KEYS='${set}'`
  const assignment = /^[ \t]*(?:export[ \t]+)?JWT_KEYS[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`|.*)[^\n]*$/m
  const separator = text === '' || text.endsWith('\n') ? '' : '\n'
  const changed = assignment.test(text) ? text.replace(assignment, () => line) : `${text}${separator}${line}\n`
  // Differs when JWT_KEYS is in the file twice, or inside another value.
  if (parseEnv(changed)['JWT_KEYS'] !== set) {
    throw new UserError(
      `JWT_KEYS in ${file} can't be replaced: keep only one line of it, or delete it to get a new key.`,
    )
  }
  await writePrivateFile(resolve(file), Buffer.from(changed, encoding))
}

/** Keeps every byte: the rest of the file may be in any encoding. */
const encoding = 'latin1'

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, encoding)
  } catch (error) {
    if (readPath(error, 'code') === 'ENOENT') return ''
    throw new UserError(`Can't read ${file}: ${findReason(error)}.`)
  }
}
