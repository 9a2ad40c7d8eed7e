// A stand-in of crypto.subtle with the algorithms that the Worker may use, and SHA-256 as the only hash. The real one works on
// other threads, so its promises settle at a real time, not at a virtual one. These settle in microtasks.
import { createHash, createHmac, hkdfSync, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Parameters of the Web Cryptography API. A key's are checked when it is used. */
interface Algorithm {
  name: string
  hash?: string | { name: string }
  salt?: BufferSource
  info?: BufferSource
  iterations?: number
  /** In bits. */
  length?: number
}

interface SimulatedKey {
  type: 'secret'
  extractable: boolean
  algorithm: { name: string }
  usages: readonly string[]
  bytes: Uint8Array
}

/** The Web Cryptography API gives an HMAC key without a length the block of its hash. */
const sha256BlockBits = 512

const subtle = {
  digest: async (algorithm: string | Algorithm, data: BufferSource) => {
    requireSha256(algorithm)
    return toArrayBuffer(createHash('sha256').update(toBytes(data)).digest())
  },

  importKey: async (
    format: string,
    data: BufferSource | JsonWebKey,
    algorithm: string | Algorithm,
    extractable: boolean,
    usages: readonly string[],
  ) => {
    if (format === 'raw') return createKey(toBytes(data as BufferSource), algorithm, extractable, usages)
    const { kty, k } = data as JsonWebKey
    if (format !== 'jwk' || kty !== 'oct' || k === undefined) throw new Error('the simulation has no such key')
    return createKey(Buffer.from(k, 'base64url'), algorithm, extractable, usages)
  },

  generateKey: async (algorithm: Algorithm, extractable: boolean, usages: readonly string[]) => {
    requireName(algorithm, 'HMAC')
    return createKey(randomBytes((algorithm.length ?? sha256BlockBits) / 8), algorithm, extractable, usages)
  },

  sign: async (algorithm: string | Algorithm, key: SimulatedKey, data: BufferSource) =>
    toArrayBuffer(computeHmac('sign', algorithm, key, data)),

  verify: async (algorithm: string | Algorithm, key: SimulatedKey, signature: BufferSource, data: BufferSource) => {
    const expected = computeHmac('verify', algorithm, key, data)
    const given = toBytes(signature)
    return given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
  },

  deriveBits: async (algorithm: Algorithm, key: SimulatedKey, bits: number) =>
    toArrayBuffer(derive('deriveBits', algorithm, key, bits / 8)),

  deriveKey: async (
    algorithm: Algorithm,
    key: SimulatedKey,
    derived: Algorithm,
    extractable: boolean,
    usages: readonly string[],
  ) => {
    requireName(derived, 'HMAC')
    const bytes = derive('deriveKey', algorithm, key, (derived.length ?? sha256BlockBits) / 8)
    return createKey(bytes, derived, extractable, usages)
  },
}

export const simulatedSubtle = subtle as unknown as SubtleCrypto

/** Replaces crypto.subtle of this process. Returns a function that restores it. */
export function installSimulatedCrypto(): () => void {
  Object.defineProperty(crypto, 'subtle', { value: simulatedSubtle, configurable: true })
  // The real one is a property of the prototype.
  return () => void Reflect.deleteProperty(crypto, 'subtle')
}

function createKey(
  bytes: Uint8Array,
  algorithm: string | Algorithm,
  extractable: boolean,
  usages: readonly string[],
): SimulatedKey {
  const name = getName(algorithm)
  if (name === 'HMAC') requireSha256((algorithm as Algorithm).hash)
  else if (name !== 'PBKDF2' && name !== 'HKDF') throw new Error(`the simulation has no ${name}`)
  return { type: 'secret', extractable, algorithm: { name }, usages, bytes: bytes.slice() }
}

function computeHmac(usage: string, algorithm: string | Algorithm, key: SimulatedKey, data: BufferSource): Buffer {
  requireName(algorithm, 'HMAC')
  requireUse(key, 'HMAC', usage)
  return createHmac('sha256', key.bytes).update(toBytes(data)).digest()
}

function derive(usage: string, algorithm: Algorithm, key: SimulatedKey, byteLength: number): Uint8Array {
  const { name, hash, salt = new Uint8Array(), info = new Uint8Array(), iterations = 0 } = algorithm
  requireSha256(hash)
  requireUse(key, name, usage)
  if (name === 'PBKDF2') return pbkdf2Sync(key.bytes, toBytes(salt), iterations, byteLength, 'sha256')
  requireName(algorithm, 'HKDF')
  return new Uint8Array(hkdfSync('sha256', key.bytes, toBytes(salt), toBytes(info), byteLength))
}

function requireUse({ algorithm, usages }: SimulatedKey, name: string, usage: string): void {
  if (algorithm.name !== name || !usages.includes(usage)) {
    throw new DOMException(`this key of ${algorithm.name} is not for ${usage} with ${name}`, 'InvalidAccessError')
  }
}

function requireSha256(hash: string | { name: string } | undefined): void {
  if (hash === undefined) throw new Error('an algorithm has no hash')
  requireName(hash, 'SHA-256')
}

function requireName(algorithm: string | { name: string }, name: string): void {
  if (getName(algorithm) !== name) throw new Error(`the simulation has no ${getName(algorithm)} here`)
}

function getName(algorithm: string | { name: string }): string {
  return typeof algorithm === 'string' ? algorithm : algorithm.name
}

function toBytes(data: BufferSource): Uint8Array {
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}

/** Copies: a small Buffer shares its memory with others. */
function toArrayBuffer(bytes: Uint8Array): ArrayBufferLike {
  return new Uint8Array(bytes).buffer
}
