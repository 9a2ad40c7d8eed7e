// Reads and writes the copies in KV. A copy counts as missing when KV fails, needs too long or returns data of another shape, and
// when the copy is too old or its time is ahead of the clock. Nothing here throws.
import { isJsonObject, parseTrusted } from '../../json.ts'
import { getPartnerKey } from '../../api/cache-keys.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { kvReadDeadlineMs, withDeadline } from '../deadline.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { isUsableInOutage, staleIfErrorMs } from './freshness.ts'
import type { Copied } from './copy-renewal.ts'

/** Tells whether a key is within KV's limit of 512 bytes. A stranger's client ID may have any characters. */
export function isKvKey(key: string): boolean {
  return new TextEncoder().encode(key).byteLength <= 512
}

/** A plan list in memory. `storedAtMs` is about its copy in KV. */
export interface HeldList extends Copied {
  body: Uint8Array
  /** See `computeEtag`. */
  etag: string
  /** The catalog's revision that the list belongs to. */
  revision: number
  /** Unix milliseconds at which the list was last known to be current. */
  currentAtMs: number
}

export async function readListCopy(context: CacheContext, key: string): Promise<HeldList | undefined> {
  const copy = await readCopy(context, 'plans', key)
  if (!copy) return undefined
  const { etag, revision, currentAtMs, bytes } = copy.metadata
  const hasShape = typeof etag === 'string' && typeof revision === 'number' && typeof currentAtMs === 'number'
  // Cheap: compares the length, and the braces at both ends. KV guarantees the bytes, so they are not hashed again.
  if (
    hasShape &&
    /^"[\w-]{22}"$/.test(etag) &&
    bytes === copy.body.byteLength &&
    copy.body.at(0) === 0x7b &&
    copy.body.at(-1) === 0x7d
  ) {
    const list = { body: copy.body, etag, revision, currentAtMs, storedAtMs: currentAtMs }
    return isUsableInOutage(currentAtMs, context.nowMs) ? list : undefined
  }
  context.warn({ event: 'kv_garbled', entry: 'plans' })
  return undefined
}

/** @returns the time of the copy in Unix milliseconds, undefined if KV refused it */
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
export interface StoredPartner {
  /** While D1 fails, a command can end access only if KV has an entry. */
  hasEntry: boolean
  copy: PartnerCopy | undefined
  /** Unix milliseconds at which access ended, according to the mark. 0 for no mark, or if access never ended. */
  endedAtMs: number
}

/**
 * A copy needs a right seal, which also proves its shape: the version in the key changes with the format. A mark needs no seal,
 * because it gives no access.
 * @returns null when KV fails
 */
export async function readStoredPartner(context: CacheContext, clientId: string): Promise<StoredPartner | null> {
  const key = getPartnerKey(clientId)
  const stored = await readCopy(context, 'partner', key)
  if (!stored) return stored === null ? null : { hasEntry: false, copy: undefined, endedAtMs: 0 }
  const { shortName, endedAtMs, checkedAtMs, mac } = stored.metadata
  if (typeof endedAtMs === 'number') return { hasEntry: true, copy: undefined, endedAtMs }
  const body = new TextDecoder().decode(stored.body)
  if (typeof shortName === 'string' && typeof checkedAtMs === 'number' && typeof mac === 'string') {
    if (await context.seal.verify(formatSealed(key, checkedAtMs, shortName, body), mac)) {
      const access = parseTrusted<Omit<PartnerAccess, 'shortName'>>(body)
      const isUsable = isUsableInOutage(checkedAtMs, context.nowMs)
      const copy = isUsable ? { partner: { shortName, ...access }, checkedAtMs } : undefined
      return { hasEntry: true, copy, endedAtMs: 0 }
    }
  }
  context.warn({ event: 'kv_garbled', entry: 'partner' })
  return { hasEntry: true, copy: undefined, endedAtMs: 0 }
}

/**
 * Puts the short name into the metadata, by which the command line finds the copy of a partner while D1 fails.
 * @returns the time of the copy in Unix milliseconds, undefined if KV refused it
 */
export async function writePartnerCopy(
  context: CacheContext,
  clientId: string,
  copy: PartnerCopy,
): Promise<number | undefined> {
  const key = getPartnerKey(clientId)
  const { partner, checkedAtMs } = copy
  const { shortName, ...access } = partner
  const body = JSON.stringify(access)
  const mac = await context.seal.sign(formatSealed(key, checkedAtMs, shortName, body), context.nowMs)
  const metadata = { shortName, checkedAtMs, mac }
  return (await writeCopy(context, 'partner', key, new TextEncoder().encode(body), metadata)) ? checkedAtMs : undefined
}

/** The text under the seal. It differs for each copy: a key and a short name have no line break. */
function formatSealed(key: string, checkedAtMs: number, shortName: string, body: string): string {
  return [key, checkedAtMs, shortName, body].join('\n')
}

/** @returns undefined when KV has no entry, null when KV fails or needs too long */
async function readCopy({ kv, warn }: CacheContext, entry: 'plans' | 'partner', key: string) {
  if (!isKvKey(key)) return undefined
  try {
    const { value, metadata } = await withDeadline(kv.getWithMetadata(key, 'arrayBuffer'), kvReadDeadlineMs, 'KV')
    if (value === null) return undefined
    return { body: new Uint8Array(value), metadata: isJsonObject(metadata) ? metadata : {} }
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'get', entry, reason: describeError(error) })
    return null
  }
}

/** @returns whether KV took the copy */
async function writeCopy(
  { kv, warn }: CacheContext,
  entry: 'plans' | 'partner',
  key: string,
  body: Uint8Array,
  metadata: object,
) {
  try {
    await kv.put(key, body, { metadata, expirationTtl: staleIfErrorMs / 1000 })
    return true
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'put', entry, reason: describeError(error) })
    return false
  }
}
