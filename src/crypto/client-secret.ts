// Client credentials: making them, hashing a secret for storage, verifying one. Runs in the Worker and in Node.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'

/** Deployed Workers refuse to derive with more. The local runtime does not, so this code does it for both. */
export const mostPbkdf2Iterations = 100_000

/** A partner has at most this many live secrets: the current one, and the rotated one in its grace period. */
const mostLiveSecrets = 2

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const clientIdLength = 16
const clientSecretLength = 40
const saltBytes = 16
const digestBytes = 32

type RandomBytes = (length: number) => Uint8Array
const randomBytes: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length))

export function generateClientId(random = randomBytes): string {
  return randomText(clientIdLength, random)
}

/** 40 of 62 characters: 238 bits. */
export function generateClientSecret(random = randomBytes): string {
  return randomText(clientSecretLength, random)
}

/** Rejection sampling: a byte is used only below the largest multiple of 62, so that no character is likelier. */
function randomText(length: number, random: RandomBytes): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < limit && text.length < length) text += alphabet.charAt(byte % alphabet.length)
    }
  }
  return text
}

/**
 * Hashes a secret for storage: `$pbkdf2-sha256$i=<iterations>$<salt>$<digest>`, salt and digest in Base64url.
 * @throws RangeError when the iteration count is none that a deployed Worker could verify.
 */
export async function hashSecret(secret: string, iterations: number, random = randomBytes): Promise<string> {
  if (!isIterationCount(iterations)) throw new RangeError(`PBKDF2 iterations are 1 to ${mostPbkdf2Iterations}`)
  const salt = random(saltBytes)
  const digest = await deriveDigest(secret, salt, iterations)
  return `$pbkdf2-sha256$i=${iterations}$${encodeBase64Url(salt)}$${encodeBase64Url(digest)}`
}

/**
 * Finds the stored hash that `secret` belongs to, or undefined.
 *
 * A refusal always costs `mostLiveSecrets` derivations, whether the client is unknown (no hashes), has one secret or
 * two, so that its time does not tell which. `dummyIterations` is what a derivation costs that has no hash to check: the
 * configured number, with which all but old secrets are hashed.
 */
export async function findMatchingHash(
  secret: string,
  hashes: readonly string[],
  dummyIterations: number,
): Promise<string | undefined> {
  for (let index = 0; index < Math.max(hashes.length, mostLiveSecrets); index++) {
    const hash = hashes[index]
    const stored = hash === undefined ? undefined : parseHash(hash)
    const { salt, digest, iterations } = stored ?? { ...dummy, iterations: dummyIterations }
    const isEqual = equalBytes(await deriveDigest(secret, salt, iterations), digest)
    if (isEqual && stored !== undefined) return hash
  }
  return undefined
}

const dummy = { salt: new Uint8Array(saltBytes), digest: new Uint8Array(digestBytes) }

function parseHash(hash: string) {
  const [empty, scheme, cost, encodedSalt, encodedDigest, ...surplus] = hash.split('$')
  const iterations = Number(/^i=([1-9][0-9]{0,8})$/.exec(cost ?? '')?.[1])
  const salt = decodeBase64Url(encodedSalt ?? '')
  const digest = decodeBase64Url(encodedDigest ?? '')
  if (empty !== '' || scheme !== 'pbkdf2-sha256' || surplus.length > 0) return undefined
  if (!isIterationCount(iterations) || salt?.length !== saltBytes || digest?.length !== digestBytes) return undefined
  return { iterations, salt, digest }
}

export function isIterationCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= mostPbkdf2Iterations
}

/** PBKDF2-HMAC-SHA-256 (RFC 8018 section 5.2), 32 bytes. */
async function deriveDigest(secret: string, salt: Uint8Array, iterations: number) {
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'PBKDF2', false, ['deriveBits'])
  const parameters = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations }
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, digestBytes * 8))
}

/** Takes the same time wherever the bytes differ. (Workers' own `timingSafeEqual` is missing in Node.) */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}
