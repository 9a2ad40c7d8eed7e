// Finds secrets in a text by their form. Does not check if a secret belongs to this service.
import { isClientSecret, secretPrefix } from '../../crypto/client-secret.ts'

/**
 * `key-name`: the name of a signing key, which is no secret, without the key. `possible-key`: 43 characters of Base64url without a name,
 * which may be a signing key. `cut-secret`: the beginning of a client secret, or a mistyped client secret.
 */
export type SecretKind = 'signing-key' | 'key-name' | 'secret' | 'cut-secret' | 'token' | 'possible-key'

export interface FoundSecret {
  kind: SecretKind
  /** The number of the line where the secret begins. The first line has number 1. */
  line: number
  /** The KID of a signing key, the payload of a token, or the secret itself. */
  text: string
}

/** Base64 or Base64url of 40 characters or more. Shorter Base64 can't contain a secret. */
const base64 = /[\w+/-]{40,}/g
const token = /\beyJ[\w-]+\.(eyJ[\w-]+)(?:\.[\w-]*)?/g
/** The name of a signing key, and the key itself if it follows the name, as in .dev.vars, in JSON or in a string with JSON. */
const key = /JWT_KEY_(\d{10})(?!\d)(?:\W{1,8}([\w-]{43,}))?/g
const url = /\bhttps?:\/\/\S+/g
/** A signing key without its name. The lookarounds exclude parts of tokens, hashes, paths and longer texts. */
const namelessKey = /(?<![\w\-+/.$])[\w-]{43}(?![\w\-+/=])/g

/** Finds the secrets of a text, also in Base64, sorted by line. Lists a secret once, even if the text has it twice. */
export function findSecrets(text: string): FoundSecret[] {
  const keysAndTokens = text.split('\n').flatMap((line, index) => {
    // An encoded URL has %5F for the underscores of JWT_KEY_.
    const decodedLine = `${line} ${line.replaceAll(base64, decodeBase64)}`.replaceAll(/%5f/gi, '_')
    return findKeysAndTokens(decodedLine).map(([kind, value]): FoundSecret => ({ kind, line: index + 1, text: value }))
  })
  const byId = new Map<string, FoundSecret>()
  for (const secret of [...findClientSecrets(text), ...keysAndTokens].toSorted((a, b) => a.line - b.line)) {
    const id = `${secret.kind} ${secret.text}`
    if (!byId.has(id)) byId.set(id, secret)
  }
  // Leaves out the name of a signing key if the text has the key, too.
  return [...byId.values()].filter(({ kind, text: kid }) => kind !== 'key-name' || !byId.has(`signing-key ${kid}`))
}

/** Decodes Base64 or Base64url. @returns a text with one character for each byte. */
function decodeBase64(encoded: string): string {
  const text = encoded.replaceAll('-', '+').replaceAll('_', '/')
  // A single character after the last group of four has too few bits for a byte.
  return atob(text.length % 4 === 1 ? text.slice(0, -1) : text)
}

/** Separates parts that may be Base64. A regular expression for the parts may fail, because they can be very long. */
const separator = /([^\w+/-]+)/
/** A whole client secret, or its beginning. With the lookahead, matches may overlap: after a cut secret, the next one follows at once. */
const clientSecret = new RegExp(`${secretPrefix}(?=([0-9A-Za-z]{1,36}))`, 'g')
/** Programs put Base64 within Base64, but do not encode the same text three times. */
const maxDecodings = 2

/**
 * Finds client secrets. Removes escapes, joins all lines and decodes Base64, because terminals, Markdown, HTML, JSON and e-mail break,
 * escape or encode secrets. Joined lines cause no false alarm, because a client secret has a checksum.
 * @param decodings how many times the text was decoded already.
 */
function findClientSecrets(text: string, decodings = 0): FoundSecret[] {
  const lines = text.split('\n').map(removeEscapes)
  const joinedText = lines.join('')
  let length = 0
  const lineEnds = lines.map((line) => (length += line.length))
  const getLineNumber = (index: number) => lineEnds.findIndex((end) => index < end) + 1
  const secrets = [...joinedText.matchAll(clientSecret)].map((match): FoundSecret => {
    const secret = `${secretPrefix}${match[1]}`
    return { kind: isClientSecret(secret) ? 'secret' : 'cut-secret', line: getLineNumber(match.index), text: secret }
  })
  if (decodings === maxDecodings) return secrets
  let partIndex = 0
  for (const [number, part] of joinedText.split(separator).entries()) {
    // The parts with odd numbers are the separators.
    const isSkipped = number % 2 === 1 || part.length < 40
    // Letters before the Base64 may shift its groups of four, so it is decoded from each of four places.
    const decodedTexts = isSkipped ? [] : [0, 1, 2, 3].map((start) => decodeBase64(part.slice(start)))
    for (const secret of decodedTexts.flatMap((decodedText) => findClientSecrets(decodedText, decodings + 1))) {
      secrets.push({ ...secret, line: getLineNumber(partIndex) })
    }
    partIndex += part.length
  }
  return secrets
}

const decimalCharacter = /&(?:amp;)*#(\d{1,6});/g
/**
 * Escapes such as `&#x5F;`, `\u{5f}`, `%255F` and `=5F`. After `=`, an escape begins with a digit. Base64 of a secret after an equals sign
 * begins with a letter, and is no escape.
 */
const hexCharacter =
  /(?:&(?:amp;)*#x|\\u\{)([\da-f]{1,5})[;}]|\\u([\da-f]{4})|(?:%(?:25)*|\\x)([\da-f]{2})|=([2-7][\da-f])/gi
/**
 * The characters that programs insert into a secret when they break its line: escaped line breaks, `>` of e-mail and `|` of tables, tags,
 * colors of a terminal, invisible characters.
 */
const insertedCharacters =
  /(?:\\[nrt] *)+|^[\s>|]+|=$|<w?br ?\/?>|\p{Cc}\[[\d;]*[a-z]|[\\\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/giu

/** Replaces escapes by their characters, and deletes characters that programs insert when they break a line. @param line without its line feed. */
function removeEscapes(line: string): string {
  return line
    .trim()
    .replaceAll(decimalCharacter, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(hexCharacter, (_, ...groups: string[]) =>
      // Each form of an escape has its own group: only one of them matched.
      String.fromCodePoint(Number.parseInt(groups.find(Boolean) ?? '', 16)),
    )
    .replaceAll(insertedCharacters, '')
}

/** Finds the signing keys, their names, tokens and possible keys in a line. @returns the kind and `text` of each `FoundSecret`. */
function findKeysAndTokens(line: string): [SecretKind, string][] {
  const matchAll = (pattern: RegExp, text = line) => [...text.matchAll(pattern)]
  const lineWithoutMatches = line.replaceAll(token, ' ').replaceAll(key, ' ').replaceAll(url, ' ')
  return [
    ...matchAll(key).map(([, kid = '', keyText]): [SecretKind, string] => [keyText ? 'signing-key' : 'key-name', kid]),
    ...matchAll(token).map(([, payload = '']): [SecretKind, string] => ['token', payload]),
    ...matchAll(namelessKey, lineWithoutMatches)
      // A random key has capitals and small letters. Names of pages and files seldom have both.
      .filter(([text]) => /[a-z]/.test(text) && /[A-Z]/.test(text))
      .map(([text]): [SecretKind, string] => ['possible-key', text]),
  ]
}
