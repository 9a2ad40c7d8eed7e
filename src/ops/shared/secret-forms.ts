// Finds secrets in a text by their form. Whether they belong to this service is not known here.
import { isClientSecret, secretPrefix } from '../../crypto/client-secret.ts'

/**
 * `key-name`: only the name of a signing key, which is no secret. `possible-key`: 43 characters of Base64url, as a signing key
 * has, without its name. `cut-secret`: the beginning of a client secret, or a mistyped one.
 */
export type SecretKind = 'signing-key' | 'key-name' | 'secret' | 'cut-secret' | 'token' | 'possible-key'

export interface FoundSecret {
  kind: SecretKind
  /** The number of the line where it begins, from 1. */
  line: number
  /** The KID of a signing key, the payload of a token, or the secret itself. */
  text: string
}

/** Base64 and Base64url. A shorter text holds no secret. */
const base64 = /[\w+/-]{40,}/g
const token = /\beyJ[\w-]+\.(eyJ[\w-]+)(?:\.[\w-]*)?/g
/** The name of a signing key, with its value if that follows: as in .dev.vars, in JSON, or in JSON within a string. */
const key = /JWT_KEY_(\d{10})(?!\d)(?:\W{1,8}([\w-]{43,}))?/g
const url = /\bhttps?:\/\/\S+/g
/** The value of a signing key without its name. The lookarounds exclude parts of tokens, hashes, paths and longer texts. */
const keyValue = /(?<![\w\-+/.$])[\w-]{43}(?![\w\-+/=])/g

/** Finds the secrets of a text, also in Base64, in the order of their lines. A secret that occurs twice is found once. */
export function findSecrets(text: string): FoundSecret[] {
  const others = text.split('\n').flatMap((content, index) => {
    const readable = `${content} ${content.replaceAll(base64, decode)}`.replaceAll(/%5f/gi, '_')
    return findInLine(readable).map(([kind, value]): FoundSecret => ({ kind, line: index + 1, text: value }))
  })
  const found = new Map<string, FoundSecret>()
  for (const one of [...findClientSecrets(text), ...others].toSorted((a, b) => a.line - b.line)) {
    const name = `${one.kind} ${one.text}`
    if (!found.has(name)) found.set(name, one)
  }
  return [...found.values()].filter(({ kind, text: kid }) => kind !== 'key-name' || !found.has(`signing-key ${kid}`))
}

/** Decodes Base64 or Base64url into a text with a character for each byte. */
function decode(encoded: string): string {
  const text = encoded.replaceAll('-', '+').replaceAll('_', '/')
  // A lone character at the end has too few bits for a byte.
  return atob(text.length % 4 === 1 ? text.slice(0, -1) : text)
}

/** Splits a text into parts that may be Base64. A regular expression that matches these may not work: they can be very long. */
const notBase64 = /([^\w+/-]+)/
/** A whole client secret, or its beginning. A lookahead, because the next secret may begin within the beginning of one. */
const clientSecret = new RegExp(`${secretPrefix}(?=([0-9A-Za-z]{1,36}))`, 'g')
/** How often a text is decoded: programs make Base64 within Base64, and nothing deeper. */
const maxDecodings = 2

/**
 * Finds client secrets, also where a program broke, escaped or encoded them, as terminals, Markdown, HTML, JSON and e-mail do. So it
 * joins all lines. That raises no false alarm, because a client secret has a checksum.
 * @param decodings how often the text was decoded already.
 */
function findClientSecrets(text: string, decodings = 0): FoundSecret[] {
  const lines = text.split('\n').map(stripEscapes)
  const joined = lines.join('')
  let length = 0
  const ends = lines.map((line) => (length += line.length))
  const findLine = (index: number) => ends.findIndex((end) => index < end) + 1
  const found = [...joined.matchAll(clientSecret)].map(({ 1: rest, index }): FoundSecret => {
    const one = `${secretPrefix}${rest}`
    return { kind: isClientSecret(one) ? 'secret' : 'cut-secret', line: findLine(index), text: one }
  })
  if (decodings === maxDecodings) return found
  let index = 0
  for (const [number, part] of joined.split(notBase64).entries()) {
    // A word may stand before the Base64, so it begins at one of four places.
    const encoded = number % 2 === 1 || part.length < 40 ? [] : [0, 1, 2, 3].map((start) => decode(part.slice(start)))
    for (const one of encoded.flatMap((inner) => findClientSecrets(inner, decodings + 1))) {
      found.push({ ...one, line: findLine(index) })
    }
    index += part.length
  }
  return found
}

const decimalCharacter = /&(?:amp;)*#(\d{1,6});/g
/**
 * Escapes such as `&#x5F;`, `\u{5f}`, `%255F` and `=5F`. The digit after `=` tells it from Base64 after an equals sign: a secret's
 * begins with a letter.
 */
const hexCharacter =
  /(?:&(?:amp;)*#x|\\u\{)([\da-f]{1,5})[;}]|\\u([\da-f]{4})|(?:%(?:25)*|\\x)([\da-f]{2})|=([2-7][\da-f])/gi
/**
 * What stands within a secret that was broken: escaped line breaks, marks of e-mail and tables at a line break, tags, colors of a
 * terminal, invisible characters.
 */
const noise =
  /(?:\\[nrt] *)+|^[\s>|]+|=$|<w?br ?\/?>|\p{Cc}\[[\d;]*[a-z]|[\\\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/giu

/** Replaces escapes by their characters, and deletes what programs put at a line break. @param line a line without its line feed. */
function stripEscapes(line: string): string {
  return line
    .trim()
    .replaceAll(decimalCharacter, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(hexCharacter, (_, ...codes: string[]) =>
      String.fromCodePoint(Number.parseInt(codes.find(Boolean) ?? '', 16)),
    )
    .replaceAll(noise, '')
}

/** Finds signing keys, tokens and possible keys. @returns the kind and the `text` of each. */
function findInLine(content: string): [SecretKind, string][] {
  const matchAll = (pattern: RegExp, text = content) => [...text.matchAll(pattern)]
  const rest = content.replaceAll(token, ' ').replaceAll(key, ' ').replaceAll(url, ' ')
  return [
    ...matchAll(key).map(([, kid = '', value]): [SecretKind, string] => [value ? 'signing-key' : 'key-name', kid]),
    ...matchAll(token).map(([, payload = '']): [SecretKind, string] => ['token', payload]),
    ...matchAll(keyValue, rest).flatMap(([one]): [SecretKind, string][] =>
      isMixed(one) ? [['possible-key', one]] : [],
    ),
  ]
}

/** Whether a text has capitals and small letters, as a random key has. The name of a page or a file has only one of them. */
const isMixed = (text: string) => /[a-z]/.test(text) && /[A-Z]/.test(text)
