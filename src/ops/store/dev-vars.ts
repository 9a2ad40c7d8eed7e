// Reads and changes .dev.vars: the file with the secrets of a local Worker, and with variables that override wrangler.toml.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import type { ConfigSource } from '../../api/config.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'
import type { WorkerSecrets } from './worker-secrets.ts'
import type { WranglerConfig } from './wrangler-toml.ts'
import { ownerOnly, writeOutput } from './write-output.ts'

export const devVarsFile = '.dev.vars'

export function openDevVars(file = devVarsFile): WorkerSecrets {
  return {
    list: async () => {
      const names = Object.keys(parseEnv(await readText(file)))
      return { live: names, latest: names }
    },
    checkEditable: async () => {},
    put: (secrets) => writeLines(file, secrets),
  }
}

/** Reads the variables of a local Worker, and its secrets. */
export async function readLocalVariables({ vars }: WranglerConfig): Promise<ConfigSource> {
  return { ...vars, ...parseEnv(await readText(devVarsFile)) }
}

/**
 * Sets variables in a file, or deletes those that are null, and leaves its other lines unchanged. Programs that read it meanwhile see the
 * old file or the new one. Only the owner may read the new one.
 * @throws UserError when the file can't be written, or another variable would change.
 */
async function writeLines(file: string, secrets: Record<string, string | null>): Promise<void> {
  const text = await readText(file)
  const assignments = /^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=.*\n?/gm
  const kept = text.replaceAll(assignments, (line, name: string) => (Object.hasOwn(secrets, name) ? '' : line))
  const added = Object.entries(secrets).filter(([, value]) => value !== null)
  const separator = kept === '' || kept.endsWith('\n') ? '' : '\n'
  const changed = `${kept}${separator}${added.map(([name, value]) => `${name}=${value}\n`).join('')}`
  const before = Object.entries(parseEnv(text)).filter(([name]) => !Object.hasOwn(secrets, name))
  if (!isDeepStrictEqual({ ...parseEnv(changed) }, Object.fromEntries([...before, ...added]))) {
    throw new UserError(`The keys in ${file} can't be changed: keep each variable on one line.`)
  }
  await writeOutput(resolve(file), changed, ownerOnly)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (readPath(error, 'code') === 'ENOENT') return ''
    throw new UserError(`Can't read ${file}: ${findReason(error)}.`)
  }
}
