// Client IDs and secrets: generate and recognize them, hash a secret for storage, verify one.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'

/** Deployed Workers refuse more iterations. The local runtime does not, so this code refuses more everywhere. */
export const maxPbkdf2Iterations = 100_000

/** A partner has at most two live secrets: the current one, and the previous one during its grace period. */
const maxLiveSecrets = 2

/**
 * The source of a regular expression that finds client secrets in any text. It works in JavaScript and in RE2, which scanners such as
 * gitleaks use. It has no word boundaries: in front of a secret may be `ACME_`, the `n` of an escaped line feed or the `3D` of a URL.
 */
export const clientSecretPattern = 'pcs_[0-9A-Za-z]{36}'

/** The digits of base 62, and the characters of client IDs and secrets. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const clientIdLength = 16
export const secretPrefix = 'pcs_'
const secretRandomLength = 30
const checksumLength = 6
const saltBytes = 16
const digestBytes = 32

/** @returns that many random bytes */
type RandomBytes = (length: number) => Uint8Array
const randomBytes: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length))

export function generateClientId(random = randomBytes): string {
  return randomText(clientIdLength, random)
}

export function generateClientSecret(random = randomBytes): string {
  const text = randomText(secretRandomLength, random)
  return `${secretPrefix}${text}${computeChecksum(text)}`
}

/** Tells whether a text has the form and the checksum of a client secret. Only for operators: the Worker takes any text as a secret. */
export function isClientSecret(text: string): boolean {
  const end = secretPrefix.length + secretRandomLength
  const isFormed = new RegExp(`^${clientSecretPattern}$`).test(text)
  return isFormed && text.slice(end) === computeChecksum(text.slice(secretPrefix.length, end))
}

/** The CRC-32 of zlib in base 62, padded to 6 digits. (The Worker, which bundles this file, has no `node:zlib`.) */
function computeChecksum(text: string): string {
  let crc = -1
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  let rest = ~crc >>> 0
  let digits = ''
  while (digits.length < checksumLength) {
    digits = alphabet.charAt(rest % alphabet.length) + digits
    rest = Math.floor(rest / alphabet.length)
  }
  return digits
}

/** Makes a text of random characters. It skips bytes from 248 (4 × 62) up, so that every character is equally likely. */
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
 * Hashes a secret for storage as `$pbkdf2-sha256$i=<iterations>$<salt>$<digest>`, with salt and digest in Base64url.
 * @throws RangeError when a deployed Worker could not compute that many iterations
 */
export async function hashSecret(secret: string, iterations: number, random = randomBytes): Promise<string> {
  if (!isIterationCount(iterations)) throw new RangeError(`PBKDF2 takes 1 to ${maxPbkdf2Iterations} iterations`)
  const salt = random(saltBytes)
  const digest = await deriveDigest(secret, salt, iterations)
  return `$pbkdf2-sha256$i=${iterations}$${encodeBase64Url(salt)}$${encodeBase64Url(digest)}`
}

/**
 * Finds the hash that a secret matches. If there is none, the search costs two derivations, whether the client has no hash, because it is
 * unknown, or has one or two. So the duration of a refusal does not tell whether a client exists.
 * @param hashes the hashes of the client's secrets, as `hashSecret` makes them
 * @param dummyIterations the cost of a derivation for a hash that is missing
 * @returns undefined if no hash matches
 */
export async function findMatchingHash(
  secret: string,
  hashes: readonly string[],
  dummyIterations: number,
): Promise<string | undefined> {
  for (let index = 0; index < Math.max(hashes.length, maxLiveSecrets); index++) {
    const hash = hashes[index]
    const stored = hash === undefined ? undefined : parseHash(hash)
    const { salt, digest, iterations } = stored ?? { ...dummy, iterations: dummyIterations }
    const isMatch = areBytesEqual(await deriveDigest(secret, salt, iterations), digest)
    if (isMatch && stored !== undefined) return hash
  }
  return undefined
}

/** A derivation uses this salt and digest where a hash is missing or malformed, so that every refusal takes equally long. */
const dummy = { salt: new Uint8Array(saltBytes), digest: new Uint8Array(digestBytes) }

/** 22 and 43 characters hold the bytes of a salt and of a digest. */
const hashForm = /^\$pbkdf2-sha256\$i=([1-9][0-9]{0,8})\$([\w-]{22})\$([\w-]{43})$/

/** @returns undefined when the hash is malformed */
function parseHash(hash: string) {
  const [, count, encodedSalt = '', encodedDigest = ''] = hashForm.exec(hash) ?? []
  const iterations = Number(count)
  const salt = decodeBase64Url(encodedSalt)
  const digest = decodeBase64Url(encodedDigest)
  return salt && digest && isIterationCount(iterations) ? { iterations, salt, digest } : undefined
}

export function isIterationCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxPbkdf2Iterations
}

/** Derives 32 bytes by PBKDF2-HMAC-SHA-256 (RFC 8018 section 5.2). */
async function deriveDigest(secret: string, salt: Uint8Array, iterations: number) {
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'PBKDF2', false, ['deriveBits'])
  const parameters = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations }
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, digestBytes * 8))
}

/** Compares in a time that depends only on the length. (The `timingSafeEqual` of Workers does not exist in Node.) */
export function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}
