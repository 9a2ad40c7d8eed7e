// Turns variables and secrets into checked values. Errors name the variable and never contain its value.
import { isIterationCount, maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { createSeal, type Seal } from '../crypto/seal.ts'
import {
  formatKeyName,
  importSigningKey,
  minKeyBytes,
  parseKeyName,
  type SigningKey,
  type SigningKeys,
} from '../crypto/signing-keys.ts'

/** An access token lives for an hour. */
export const defaultTokenLifetimeSeconds = 3600

export interface Config {
  signingKeys: SigningKeys
  /** For the copies in KV. */
  seal: Seal
  /** The value of `expires_in`. */
  tokenLifetimeSeconds: number
  /** The cost of hashing a new secret, and of refusing an unknown client. */
  pbkdf2Iterations: number
}

/** The variables of `env`. A variable is a number in wrangler.toml and a string from `--var`. */
export interface ConfigSource {
  TOKEN_LIFETIME_SECONDS?: string | number
  PBKDF2_ITERATIONS?: string | number
  /** Only for the command line: `required` makes publications wait for another operator. */
  CATALOG_APPROVAL?: string
}

/** A mistake in the configuration. The message names the variable and the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The service has no key yet. */
export class NoSigningKeyError extends ConfigError {}

export type ReadConfig = (env: object) => Promise<Config>

/** Checks each `env` object once: the same object serves every request of an isolate. */
export function createConfigReader(): ReadConfig {
  const configs = new WeakMap<object, Config>()
  return async (env) => {
    const known = configs.get(env)
    if (known) return known
    const config = await parseConfig(env)
    configs.set(env, config)
    return config
  }
}

/** @throws ConfigError when a variable or secret is missing or wrong. */
export async function parseConfig(env: object): Promise<Config> {
  const signingKeys = await readSigningKeys(env)
  return { signingKeys, seal: createSeal(signingKeys), ...parseVariables(env) }
}

/** Without the secrets. @throws ConfigError when a variable is wrong. */
export function parseVariables(env: ConfigSource): Omit<Config, 'signingKeys' | 'seal'> {
  return { tokenLifetimeSeconds: readTokenLifetimeSeconds(env), pbkdf2Iterations: readPbkdf2Iterations(env) }
}

async function readSigningKeys(env: object): Promise<SigningKeys> {
  const secrets = Object.entries(env).flatMap(([name, value]: [string, unknown]) => {
    const kid = parseKeyName(name)
    return kid === undefined ? [] : [{ kid, value }]
  })
  // The IDs have the same length.
  const newestFirst = secrets.toSorted((a, b) => (a.kid < b.kid ? 1 : -1))
  const [first, ...rest] = await Promise.all(newestFirst.map(({ kid, value }) => readSigningKey(kid, value)))
  if (first !== undefined) return [first, ...rest]
  throw new NoSigningKeyError('There is no key JWT_KEY_<seconds>: see "The first deploy" in src/worker/DEPLOY.md.')
}

async function readSigningKey(kid: string, value: unknown): Promise<SigningKey> {
  const key = await importSigningKey(kid, value)
  if (key !== undefined) return key
  throw new ConfigError(
    `The secret ${formatKeyName(kid)} is wrong: it takes at least ${minKeyBytes} random bytes in Base64url.`,
  )
}

function readTokenLifetimeSeconds({ TOKEN_LIFETIME_SECONDS = defaultTokenLifetimeSeconds }: ConfigSource): number {
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
