// Reads and changes .dev.vars: the file with the secrets of a local Worker, and with variables that override wrangler.toml.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import type { ConfigSource } from '../../api/config.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { describeSystemError } from './system-error.ts'
import type { WorkerSecrets } from './worker-secrets.ts'
import type { WranglerConfig } from './wrangler-toml.ts'
import { ownerOnly, writeOutput } from './write-output.ts'

export const devVarsFile = '.dev.vars'

/** Opens the secrets of a local Worker, with the functions of `WorkerSecrets`. The secrets are always live: a local Worker has no versions. */
export function openDevVars(file = devVarsFile): WorkerSecrets {
  return {
    list: async () => {
      const names = Object.keys(parseEnv(await readTextIfExists(file)))
      return { live: names, latest: names }
    },
    checkEditable: async () => {},
    // Null deletes a secret, as in `WorkerSecrets`.
    put: (secrets) => setVariables(file, secrets),
  }
}

/** Reads the variables and secrets of a local Worker. A variable in .dev.vars overrides the variable in wrangler.toml. */
export async function readLocalVariables({ vars }: WranglerConfig): Promise<ConfigSource> {
  return { ...vars, ...parseEnv(await readTextIfExists(devVarsFile)) }
}

/**
 * Replaces the file: sets some variables, and deletes variables whose value is null. Other lines stay unchanged.
 * @throws UserError when the file can't be read or written, or when another variable would change, such as a value of several lines.
 */
async function setVariables(file: string, secrets: Record<string, string | null>): Promise<void> {
  const text = await readTextIfExists(file)
  const assignments = /^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=.*\n?/gm
  const otherLines = text.replaceAll(assignments, (line, name: string) => (Object.hasOwn(secrets, name) ? '' : line))
  const newVariables = Object.entries(secrets).filter(([, value]) => value !== null)
  const separator = otherLines === '' || otherLines.endsWith('\n') ? '' : '\n'
  const newText = `${otherLines}${separator}${newVariables.map(([name, value]) => `${name}=${value}\n`).join('')}`
  const otherVariables = Object.entries(parseEnv(text)).filter(([name]) => !Object.hasOwn(secrets, name))
  if (!isDeepStrictEqual(new Map(Object.entries(parseEnv(newText))), new Map([...otherVariables, ...newVariables]))) {
    throw new UserError(`The keys in ${file} can't be changed: keep each variable on one line.`)
  }
  await writeOutput(resolve(file), newText, ownerOnly)
}

/** @returns the text of a file, empty if there is no file. @throws UserError when the file can't be read. */
async function readTextIfExists(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (readPath(error, 'code') === 'ENOENT') return ''
    throw new UserError(`Can't read ${file}: ${describeSystemError(error)}.`)
  }
}
