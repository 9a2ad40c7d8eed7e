// Reads and writes the copies in KV. A copy counts as missing when KV fails, needs too long or returns data of another shape, and when
// the copy is too old or its time is more than a minute ahead of the clock. No function here throws.
import { isJsonObject, parseTrusted } from '../../json.ts'
import { getPartnerKey } from '../../api/cache-keys.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { kvReadDeadlineMs, withDeadline } from '../deadline.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { isUsableInOutage, staleIfErrorMs } from './freshness.ts'
import type { CopiedItem } from './copy-renewal.ts'

/** Tells if KV takes a key: its limit is 512 bytes. A stranger may send a client ID of any characters, which would make a longer key. */
export function isKvKey(key: string): boolean {
  return new TextEncoder().encode(key).byteLength <= 512
}

export interface HeldList extends CopiedItem {
  body: Uint8Array
  /** A strong entity tag, in quotes. */
  etag: string
  /** The revision of the catalog at which the list was read. */
  revision: number
  /** Unix milliseconds at which the list was last known to be current. */
  currentAtMs: number
}

/** Reads KV's copy of a list. @returns undefined if KV fails, or if the copy is missing, garbled, or too old to be used */
export async function readListCopy(context: CacheContext, key: string): Promise<HeldList | undefined> {
  const copy = await readEntry(context, 'plans', key)
  if (!copy) return undefined
  const { body, metadata } = copy
  const { etag, revision, currentAtMs, bytes } = metadata
  const hasEtag = typeof etag === 'string' && /^"[\w-]{22}"$/.test(etag)
  // Compares only the length and the braces at both ends: KV guarantees the bytes, so hashing a large list would be a waste.
  const isWhole = bytes === body.byteLength && body.at(0) === 0x7b && body.at(-1) === 0x7d
  if (hasEtag && typeof revision === 'number' && typeof currentAtMs === 'number' && isWhole) {
    const list = { body, etag, revision, currentAtMs, storedAtMs: currentAtMs }
    return isUsableInOutage(currentAtMs, context.nowMs) ? list : undefined
  }
  context.warn({ event: 'kv_garbled', entry: 'plans' })
  return undefined
}

/** Writes the copy of a list to KV. @returns the copy's time in Unix milliseconds, undefined if KV failed */
export async function writeListCopy(context: CacheContext, key: string, list: HeldList): Promise<number | undefined> {
  const { body, etag, revision, currentAtMs } = list
  const metadata = { etag, revision, currentAtMs, bytes: body.byteLength }
  return (await writeCopy(context, 'plans', key, body, metadata)) ? currentAtMs : undefined
}

export interface PartnerCopy {
  partner: PartnerAccess
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
}

/** KV's entry for a partner: a copy, or the mark that a command puts in its place (PartnerMark). */
export interface PartnerEntry {
  /** False if KV has neither a copy nor a mark. While D1 fails, a command can end access only if KV has an entry. */
  hasEntry: boolean
  /** Undefined if KV has no copy, or a copy that is not usable. */
  copy: PartnerCopy | undefined
  /** Unix milliseconds at which access last ended, according to the mark. 0 for no mark, or if access never ended. */
  endedAtMs: number
}

/**
 * Reads KV's entry for a partner. A copy must have a right seal, which also proves its shape: the version in the key changes with the
 * format. A mark needs no seal, because a mark gives no access.
 * @returns null when KV fails
 */
export async function readPartnerEntry(context: CacheContext, clientId: string): Promise<PartnerEntry | null> {
  const key = getPartnerKey(clientId)
  const entry = await readEntry(context, 'partner', key)
  if (entry === null) return null
  if (entry === undefined) return { hasEntry: false, copy: undefined, endedAtMs: 0 }
  const { shortName, endedAtMs, checkedAtMs, mac } = entry.metadata
  if (typeof endedAtMs === 'number') return { hasEntry: true, copy: undefined, endedAtMs }
  const body = new TextDecoder().decode(entry.body)
  if (typeof shortName === 'string' && typeof checkedAtMs === 'number' && typeof mac === 'string') {
    if (await context.seal.verify(formatSealedText(key, checkedAtMs, shortName, body), mac)) {
      const access = parseTrusted<Omit<PartnerAccess, 'shortName'>>(body)
      const isUsable = isUsableInOutage(checkedAtMs, context.nowMs)
      const copy = isUsable ? { partner: { shortName, ...access }, checkedAtMs } : undefined
      return { hasEntry: true, copy, endedAtMs: 0 }
    }
  }
  context.warn({ event: 'kv_garbled', entry: 'partner' })
  return { hasEntry: true, copy: undefined, endedAtMs: 0 }
}

/** Seals the copy of a partner, and writes it to KV. @returns the copy's time in Unix milliseconds, undefined if KV failed */
export async function writePartnerCopy(
  context: CacheContext,
  clientId: string,
  { partner, checkedAtMs }: PartnerCopy,
): Promise<number | undefined> {
  const key = getPartnerKey(clientId)
  const { shortName, ...access } = partner
  const body = JSON.stringify(access)
  const mac = await context.seal.sign(formatSealedText(key, checkedAtMs, shortName, body), context.nowMs)
  // During an outage, the command line finds the partner by this short name.
  const metadata = { shortName, checkedAtMs, mac }
  return (await writeCopy(context, 'partner', key, new TextEncoder().encode(body), metadata)) ? checkedAtMs : undefined
}

/** Writes the text to seal. Key and short name have no line break, so different copies have different texts. */
function formatSealedText(key: string, checkedAtMs: number, shortName: string, body: string): string {
  return [key, checkedAtMs, shortName, body].join('\n')
}

/** Reads an entry of KV, a copy or a mark. @returns undefined when KV has no entry, null when KV fails or needs too long */
async function readEntry({ kv, warn }: CacheContext, entryKind: 'plans' | 'partner', key: string) {
  if (!isKvKey(key)) return undefined
  try {
    const { value, metadata } = await withDeadline(kv.getWithMetadata(key, 'arrayBuffer'), kvReadDeadlineMs, 'KV')
    if (value === null) return undefined
    return { body: new Uint8Array(value), metadata: isJsonObject(metadata) ? metadata : {} }
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'get', entry: entryKind, reason: describeError(error) })
    return null
  }
}

/** Writes a copy to KV, which deletes it after `staleIfErrorMs`. @returns false when KV fails */
async function writeCopy(
  { kv, warn }: CacheContext,
  entryKind: 'plans' | 'partner',
  key: string,
  body: Uint8Array,
  metadata: object,
) {
  try {
    await kv.put(key, body, { metadata, expirationTtl: staleIfErrorMs / 1000 })
    return true
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'put', entry: entryKind, reason: describeError(error) })
    return false
  }
}
