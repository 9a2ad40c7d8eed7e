// Generates and recognizes client IDs and secrets. Hashes secrets for storage, and verifies them.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'

/** Deployed Workers refuse more iterations. The local runtime does not, so this code refuses more everywhere. */
export const maxPbkdf2Iterations = 100_000

/** A partner has at most two live secrets: the current one, and the previous one during its grace period. */
const maxLiveSecrets = 2

/**
 * The source of a regular expression that finds client secrets in any text. It works in JavaScript and in RE2, which scanners such as
 * gitleaks use. It has no word boundary, because a letter may precede a secret: `ACME_`, the `n` of an escaped line feed, the `3D` of a URL.
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

type RandomBytes = (byteCount: number) => Uint8Array
const randomBytes: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length))

export function generateClientId(): string {
  return generateText(clientIdLength, randomBytes)
}

export function generateClientSecret(random = randomBytes): string {
  const text = generateText(secretRandomLength, random)
  return `${secretPrefix}${text}${computeChecksum(text)}`
}

/** Tells whether a text has the form and the checksum of a client secret. Only for operators: the Worker takes any text as a secret. */
export function isClientSecret(text: string): boolean {
  const end = secretPrefix.length + secretRandomLength
  const hasForm = new RegExp(`^${clientSecretPattern}$`).test(text)
  return hasForm && text.slice(end) === computeChecksum(text.slice(secretPrefix.length, end))
}

/** Computes the CRC-32 of zlib in base 62, padded to 6 digits. (The Worker, which bundles this file, has no `node:zlib`.) */
function computeChecksum(text: string): string {
  let crc = -1
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  let quotient = ~crc >>> 0
  let digits = ''
  while (digits.length < checksumLength) {
    digits = alphabet.charAt(quotient % alphabet.length) + digits
    quotient = Math.floor(quotient / alphabet.length)
  }
  return digits
}

/** Generates a text of random characters of base 62. Skips bytes from 248 (4 × 62) up, so that every character is equally likely. */
function generateText(length: number, random: RandomBytes): string {
  const byteLimit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < byteLimit && text.length < length) text += alphabet.charAt(byte % alphabet.length)
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
  const digest = await computeDigest(secret, salt, iterations)
  return `$pbkdf2-sha256$i=${iterations}$${encodeBase64Url(salt)}$${encodeBase64Url(digest)}`
}

/**
 * Finds the stored hash that a secret matches. Without a match, runs PBKDF2 twice, whether the client is unknown or has one or two hashes.
 * So the duration of a refusal does not tell whether a client exists.
 * @param storedHashes the hashes of the client's secrets, or of all live secrets to find the owner of a leaked one, as `hashSecret` returns them
 * @param dummyIterations the iterations of PBKDF2 in place of a missing or malformed hash
 * @returns undefined if no hash matches
 */
export async function findMatchingHash(
  secret: string,
  storedHashes: readonly string[],
  dummyIterations: number,
): Promise<string | undefined> {
  for (let index = 0; index < Math.max(storedHashes.length, maxLiveSecrets); index++) {
    const hash = storedHashes[index] ?? ''
    const hashParts = parseHash(hash)
    const { salt, digest, iterations } = hashParts ?? { ...dummyHash, iterations: dummyIterations }
    const isMatch = areBytesEqual(await computeDigest(secret, salt, iterations), digest)
    if (isMatch && hashParts !== undefined) return hash
  }
  return undefined
}

/** Takes the place of a missing or malformed hash, so that every refusal takes equally long. */
const dummyHash = { salt: new Uint8Array(saltBytes), digest: new Uint8Array(digestBytes) }

/** In Base64url, the 16 bytes of a salt take 22 characters, and the 32 bytes of a digest 43. */
const hashForm = /^\$pbkdf2-sha256\$i=([1-9][0-9]{0,8})\$([\w-]{22})\$([\w-]{43})$/

/** Reads the parts of a hash that `hashSecret` made. @returns undefined when the hash is malformed */
function parseHash(hash: string) {
  const [, count, encodedSalt = '', encodedDigest = ''] = hashForm.exec(hash) ?? []
  const iterations = Number(count)
  const salt = decodeBase64Url(encodedSalt)
  const digest = decodeBase64Url(encodedDigest)
  return salt && digest && isIterationCount(iterations) ? { iterations, salt, digest } : undefined
}

function isIterationCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxPbkdf2Iterations
}

/** Computes 32 bytes by PBKDF2-HMAC-SHA-256 (RFC 8018 section 5.2). */
async function computeDigest(secret: string, salt: Uint8Array, iterations: number) {
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'PBKDF2', false, ['deriveBits'])
  const parameters = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations }
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, digestBytes * 8))
}

/** Compares in a time that tells nothing about the bytes. (The `timingSafeEqual` of Workers does not exist in Node.) */
export function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}
