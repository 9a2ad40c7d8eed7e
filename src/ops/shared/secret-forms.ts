// Finds secrets in a text by their form alone.
import { clientSecretPattern, isClientSecret } from '../../crypto/client-secret.ts'

/**
 * `key-name`: only the name of a signing key, which is no secret. `possible-key`: 43 characters of Base64url, as a signing key
 * has, without its name.
 */
export type SecretKind = 'signing-key' | 'key-name' | 'secret' | 'token' | 'possible-key'

export interface FoundSecret {
  kind: SecretKind
  /** The number of its first line, from 1. */
  line: number
  /** The KID of a signing key, the payload of a token, or the secret itself. */
  text: string
}

const base64 = /[A-Za-z0-9+/]{40,}/g
const clientSecret = new RegExp(clientSecretPattern, 'g')
const token = /\beyJ[\w-]+\.(eyJ[\w-]+)(?:\.[\w-]*)?/g
/** The name of a signing key, and its value as in .dev.vars, in JSON, or in JSON within a string. */
const key = /JWT_KEY_(\d{10})(?!\d)(?:\W{1,8}([\w-]{43,}))?/g
const url = /\bhttps?:\/\/\S+/g
/** The lookarounds exclude parts of tokens, hashes, paths and longer texts. */
const keyValue = /(?<![\w\-+/.$])[\w-]{43}(?![\w\-+/=])/g

/** Finds each secret once, also in Base64 and form-encoded, in the order of its lines. */
export function findSecrets(text: string): FoundSecret[] {
  const found = new Map<string, FoundSecret>()
  for (const [index, content] of text.split('\n').entries()) {
    const decoded = content.replaceAll(base64, decode)
    const readable = `${content} ${decoded}`.replaceAll(/%5f/gi, '_')
    for (const [kind, value] of findInLine(readable)) {
      const name = `${kind} ${value}`
      if (!found.has(name)) found.set(name, { kind, line: index + 1, text: value })
    }
  }
  return [...found.values()].filter(({ kind, text: kid }) => kind !== 'key-name' || !found.has(`signing-key ${kid}`))
}

/** A lone character at the end of a part of Base64 has no byte. */
function decode(encoded: string): string {
  return atob(encoded.length % 4 === 1 ? encoded.slice(0, -1) : encoded)
}

function findInLine(content: string): [SecretKind, string][] {
  const find = (pattern: RegExp, text = content) => [...text.matchAll(pattern)]
  const rest = content.replaceAll(token, ' ').replaceAll(key, ' ').replaceAll(url, ' ')
  return [
    ...find(key).map(([, kid = '', value]): [SecretKind, string] => [value ? 'signing-key' : 'key-name', kid]),
    ...find(clientSecret).flatMap(([one]): [SecretKind, string][] => (isClientSecret(one) ? [['secret', one]] : [])),
    ...find(token).map(([, payload = '']): [SecretKind, string] => ['token', payload]),
    ...find(keyValue, rest).flatMap(([one]): [SecretKind, string][] => (isMixed(one) ? [['possible-key', one]] : [])),
  ]
}

/** A random text has capitals and small letters. The name of a page or a file has one of them. */
const isMixed = (text: string) => /[a-z]/.test(text) && /[A-Z]/.test(text)
