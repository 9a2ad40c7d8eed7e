// The variables of a local session: those of wrangler.toml, and what .dev.vars sets of them and of the secrets.
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { ConfigSource } from '../../api/config.ts'
import { readPath } from '../../json.ts'
import { devVarsFile } from './dev-vars.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'
import type { WranglerConfig } from './wrangler-toml.ts'

/** Reads where `wrangler dev` does: without .dev.vars, from the files .env and .env.local, and from the environment. */
export function readLocalVariables({ vars, secrets }: WranglerConfig): ConfigSource {
  const found = readFile(devVarsFile) ?? { ...readFile('.env'), ...readFile('.env.local'), ...process.env }
  const names = [...Object.keys(vars), ...(secrets?.required ?? [])]
  return { ...vars, ...Object.fromEntries(names.flatMap((name) => (name in found ? [[name, found[name]]] : []))) }
}

function readFile(file: string): NodeJS.Dict<string> | undefined {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    const code = readPath(error, 'code')
    // A virtual environment of Python is often a folder named .env.
    if (code === 'ENOENT' || code === 'EISDIR') return undefined
    throw new UserError(`Can't read ${file}: ${findReason(error)}.`)
  }
}
