// Turns variables and secrets into checked values. Errors name the variable and never contain its value.
import { isIterationCount, maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { createSeal, type Seal } from '../crypto/seal.ts'
import { importSigningKeys, type SigningKeys } from '../crypto/signing-keys.ts'

export interface Config {
  /** The first key signs, all of them verify. */
  signingKeys: SigningKeys
  /** For the copies in KV. */
  seal: Seal
  /** The value of `expires_in`. Default: 3600. */
  tokenLifetimeSeconds: number
  /** The cost of hashing a new secret, and of refusing an unknown client. Default: 100,000. */
  pbkdf2Iterations: number
}

/**
 * The part of `env` that holds configuration. A variable is a number in wrangler.toml and a string from `--var`. Secrets
 * named `JWT_KEYS_…` hold more keys that verify.
 */
export interface ConfigSource {
  JWT_KEYS?: string
  TOKEN_LIFETIME_SECONDS?: string | number
  PBKDF2_ITERATIONS?: string | number
  /** Only for the command line: `required` makes publications wait for another operator. */
  CATALOG_APPROVAL?: string
}

/** A mistake in the configuration. The message names the variable and the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export type ReadConfig = (env: ConfigSource) => Promise<Config>

/** Checks each `env` object once: the same object serves every request of an isolate. */
export function createConfigReader(): ReadConfig {
  const configs = new WeakMap<ConfigSource, Config>()
  return async (env) => {
    const known = configs.get(env)
    if (known) return known
    const config = await parseConfig(env)
    configs.set(env, config)
    return config
  }
}

/** @throws ConfigError when a variable or secret is missing or wrong. */
export async function parseConfig(env: ConfigSource): Promise<Config> {
  const signingKeys = await readSigningKeys(env)
  return { signingKeys, seal: createSeal(signingKeys), ...parseVariables(env) }
}

/** Without the secrets. @throws ConfigError when a variable is wrong. */
export function parseVariables(env: ConfigSource): Omit<Config, 'signingKeys' | 'seal'> {
  return { tokenLifetimeSeconds: readTokenLifetimeSeconds(env), pbkdf2Iterations: readPbkdf2Iterations(env) }
}

/** Cloudflare never returns a secret's value, so a rotation keeps each earlier key in a secret of its own. */
async function readSigningKeys({ JWT_KEYS, ...others }: ConfigSource): Promise<SigningKeys> {
  if (!JWT_KEYS) throw new ConfigError('The secret JWT_KEYS is not set. It takes a JWK Set of "oct" keys as JSON.')
  const sets = Object.entries({ JWT_KEYS, ...others }).filter(([name]) => /^JWT_KEYS(_|$)/.test(name))
  try {
    return await importSigningKeys(...sets.map(([, set]) => String(set)))
  } catch (error) {
    const names = sets.map(([name]) => name)
    const problem = error instanceof Error ? error.message : 'cannot be read'
    const where = names.length === 1 ? 'The secret JWT_KEYS is' : `One of the secrets ${names.join(', ')} is`
    throw new ConfigError(`${where} wrong: ${problem}. It takes a JWK Set of "oct" keys as JSON.`)
  }
}

function readTokenLifetimeSeconds({ TOKEN_LIFETIME_SECONDS = 3600 }: ConfigSource): number {
  const seconds = parsePositiveInteger(TOKEN_LIFETIME_SECONDS)
  if (seconds === undefined) throw new ConfigError('TOKEN_LIFETIME_SECONDS must be a positive integer.')
  return seconds
}

/** Exported for the command line, which hashes secrets but has no signing keys. */
export function readPbkdf2Iterations({ PBKDF2_ITERATIONS = maxPbkdf2Iterations }: ConfigSource): number {
  const iterations = parsePositiveInteger(PBKDF2_ITERATIONS)
  if (iterations === undefined || !isIterationCount(iterations)) {
    throw new ConfigError(
      `PBKDF2_ITERATIONS must be an integer from 1 to ${maxPbkdf2Iterations}, the limit of Cloudflare Workers.`,
    )
  }
  return iterations
}

function parsePositiveInteger(value: string | number): number | undefined {
  return /^[1-9][0-9]{0,9}$/.test(String(value)) ? Number(value) : undefined
}
