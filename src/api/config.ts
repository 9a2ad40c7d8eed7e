// Turns the Worker's variables and secrets into checked values. An error names the variable, and never contains its value.
import { maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { createSeal, type Seal } from '../crypto/seal.ts'
import {
  formatKeyName,
  importSigningKey,
  minKeyBytes,
  parseKeyName,
  type SigningKey,
  type SigningKeys,
} from '../crypto/signing-keys.ts'

export const defaultTokenLifetimeSeconds = 3600

export interface Config {
  signingKeys: SigningKeys
  /** Seals the copies of partners in KV. */
  seal: Seal
  /** The value of `expires_in`. */
  tokenLifetimeSeconds: number
  /** The iterations of PBKDF2 for hashing a new secret, and for refusing an unknown client as slowly as a known one. */
  pbkdf2Iterations: number
}

/** Variables of the Worker. A variable in wrangler.toml may be a number, a variable from `--var` is a string. */
export interface ConfigSource {
  TOKEN_LIFETIME_SECONDS?: string | number
  PBKDF2_ITERATIONS?: string | number
  /** Only the command line reads this variable: `required` makes publications wait for another operator. */
  CATALOG_APPROVAL?: string
}

/** A mistake in the configuration. The message names the variable and the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The service has no signing key yet: it is not set up. */
export class NoSigningKeyError extends ConfigError {}

export type ReadConfig = (env: object) => Promise<Config>

/** Returns a function like `parseConfig` that remembers the result for each `env` object. All requests of an isolate have the same object. */
export function createConfigReader(): ReadConfig {
  const configs = new WeakMap<object, Config>()
  return async (env) => {
    const rememberedConfig = configs.get(env)
    if (rememberedConfig) return rememberedConfig
    const config = await parseConfig(env)
    configs.set(env, config)
    return config
  }
}

/** Reads all signing keys, and the variables, which have defaults. @throws ConfigError if there is no key, or if a key or a variable is wrong */
export async function parseConfig(env: object): Promise<Config> {
  const signingKeys = await readSigningKeys(env)
  return { signingKeys, seal: createSeal(signingKeys), ...parseVariables(env) }
}

/** Reads the variables, and ignores the secrets. @throws ConfigError when a variable is wrong */
export function parseVariables(env: ConfigSource): Omit<Config, 'signingKeys' | 'seal'> {
  const { TOKEN_LIFETIME_SECONDS = defaultTokenLifetimeSeconds } = env
  const tokenLifetimeSeconds = parseInteger('TOKEN_LIFETIME_SECONDS', TOKEN_LIFETIME_SECONDS, 9_999_999_999)
  return { tokenLifetimeSeconds, pbkdf2Iterations: readPbkdf2Iterations(env) }
}

/** Reads the signing keys from the secrets whose name is the name of a key. @throws ConfigError if there is no key, or if a key is wrong */
async function readSigningKeys(env: object): Promise<SigningKeys> {
  const secrets = Object.entries(env).flatMap(([name, value]: [string, unknown]) => {
    const kid = parseKeyName(name)
    return kid === undefined ? [] : [{ kid, value }]
  })
  // IDs can be compared as texts, because every ID has ten digits.
  const newestFirst = secrets.toSorted((a, b) => (a.kid < b.kid ? 1 : -1))
  const [first, ...rest] = await Promise.all(newestFirst.map(({ kid, value }) => requireSigningKey(kid, value)))
  if (first !== undefined) return [first, ...rest]
  throw new NoSigningKeyError('There is no key JWT_KEY_<seconds>: see "The first deploy" in src/worker/DEPLOY.md.')
}

/** Imports a signing key. @throws ConfigError if `value` is not a key */
async function requireSigningKey(kid: string, value: unknown): Promise<SigningKey> {
  const key = await importSigningKey(kid, value)
  if (key !== undefined) return key
  throw new ConfigError(
    `The secret ${formatKeyName(kid)} is wrong: it must be at least ${minKeyBytes} random bytes in Base64url.`,
  )
}

/** Reads PBKDF2_ITERATIONS, by default the maximum. Exported for the command line, which hashes secrets. @throws ConfigError when the variable is wrong */
export function readPbkdf2Iterations({ PBKDF2_ITERATIONS = maxPbkdf2Iterations }: ConfigSource): number {
  return parseInteger('PBKDF2_ITERATIONS', PBKDF2_ITERATIONS, maxPbkdf2Iterations)
}

/** Parses the value of a variable. @throws ConfigError unless it is an integer from 1 to `max`, without a leading zero */
function parseInteger(name: string, value: string | number, max: number): number {
  const integer = /^[1-9][0-9]*$/.test(String(value)) ? Number(value) : Infinity
  if (integer > max) throw new ConfigError(`${name} must be an integer from 1 to ${max}.`)
  return integer
}
