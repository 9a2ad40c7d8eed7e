// env → checked values. The only reader of variables and secrets; it names them, and never echoes a value.
import { isIterationCount, mostPbkdf2Iterations } from '../crypto/client-secret.ts'
import { importSigningKeys, type SigningKey } from '../crypto/signing-keys.ts'

export interface Config {
  /** The first signs, all of them verify. */
  signingKeys: [SigningKey, ...SigningKey[]]
  /** What `expires_in` says: 3600 unless configured. */
  tokenLifetimeSeconds: number
  /** What new secrets are hashed with, and what refusing an unknown client costs: 100,000 unless configured. */
  pbkdf2Iterations: number
}

/**
 * What the configuration is read from. A variable is a number in wrangler.toml, and a string from `--var`. Secrets whose
 * names begin with JWT_KEYS_ hold further sets of keys that verify.
 */
export interface ConfigSource {
  JWT_KEYS?: string
  TOKEN_LIFETIME_SECONDS?: string | number
  PBKDF2_ITERATIONS?: string | number
}

/** An operator's mistake. The message names the variable and the mend. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The same `env` object serves every request of an isolate; what it says is checked once. Values only, no promises. */
const configs = new WeakMap<ConfigSource, Config>()

/** @throws ConfigError when a variable or secret is missing or wrong. */
export async function readConfig(env: ConfigSource): Promise<Config> {
  const known = configs.get(env)
  if (known) return known
  const config = {
    signingKeys: await readSigningKeys(env),
    tokenLifetimeSeconds: readTokenLifetimeSeconds(env),
    pbkdf2Iterations: readPbkdf2Iterations(env),
  }
  configs.set(env, config)
  return config
}

/** A secret can be replaced but not read, so that a rotation leaves the keys before in secrets of their own. */
async function readSigningKeys({ JWT_KEYS, ...others }: ConfigSource) {
  if (!JWT_KEYS) throw new ConfigError('The secret JWT_KEYS is not set. It takes a JWK Set of "oct" keys as JSON.')
  const sets = Object.entries({ JWT_KEYS, ...others }).filter(([name]) => /^JWT_KEYS(_|$)/.test(name))
  try {
    return await importSigningKeys(...sets.map(([, set]) => String(set)))
  } catch (error) {
    const names = sets.map(([name]) => name)
    const problem = error instanceof Error ? error.message : 'can’t be read'
    const where = names.length === 1 ? 'The secret JWT_KEYS is' : `One of the secrets ${names.join(', ')} is`
    throw new ConfigError(`${where} wrong: ${problem}. It takes a JWK Set of "oct" keys as JSON.`)
  }
}

function readTokenLifetimeSeconds({ TOKEN_LIFETIME_SECONDS = 3600 }: ConfigSource): number {
  const seconds = parsePositiveInteger(TOKEN_LIFETIME_SECONDS)
  if (seconds === undefined) throw new ConfigError('TOKEN_LIFETIME_SECONDS has to be a positive integer.')
  return seconds
}

/** Read on its own by the operators' command line, which hashes secrets and has no signing keys. */
export function readPbkdf2Iterations({ PBKDF2_ITERATIONS = mostPbkdf2Iterations }: ConfigSource): number {
  const iterations = parsePositiveInteger(PBKDF2_ITERATIONS)
  if (iterations === undefined || !isIterationCount(iterations)) {
    throw new ConfigError(
      `PBKDF2_ITERATIONS has to be an integer from 1 to ${mostPbkdf2Iterations}, the most that Workers allow.`,
    )
  }
  return iterations
}

function parsePositiveInteger(value: string | number): number | undefined {
  return /^[1-9][0-9]{0,9}$/.test(String(value)) ? Number(value) : undefined
}
