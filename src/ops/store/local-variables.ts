// The variables of a local session: those of wrangler.toml, and those of .dev.vars, which has the secrets, too.
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { ConfigSource } from '../../api/config.ts'
import { readPath } from '../../json.ts'
import { devVarsFile } from './dev-vars.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'
import type { WranglerConfig } from './wrangler-toml.ts'

/** Reads where `wrangler dev` does: without .dev.vars, from the files .env and .env.local. */
export function readLocalVariables({ vars }: WranglerConfig): ConfigSource {
  return { ...vars, ...(readFile(devVarsFile) ?? { ...readFile('.env'), ...readFile('.env.local') }) }
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
