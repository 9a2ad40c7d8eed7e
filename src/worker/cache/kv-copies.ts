// The copies in KV. KV is optional: when it is missing, fails, is slow or returns data of another shape, the copy counts as
// missing. Nothing here throws.
import { isJsonObject } from '../../json.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { withDeadline } from '../deadline.ts'
import { describeError, type Warn } from '../log.ts'
import { staleIfErrorMs } from './freshness.ts'
import type { HeldList } from './list-memory.ts'

/** The part of a KV namespace that the cache uses. */
export type CopyStore = Pick<KVNamespace, 'getWithMetadata' | 'put'>

export interface KvContext {
  kv: CopyStore | undefined
  warn: Warn
}

const deadlineMs = 2000

/** KV's limit. Keys are escaped, so a character is a byte. */
const maxKeyLength = 512
/** KV's limit for a value. */
const maxValueBytes = 25 * 1024 * 1024

export function canStore({ kv }: KvContext, key: string, { byteLength }: Uint8Array): boolean {
  return kv !== undefined && key.length <= maxKeyLength && byteLength <= maxValueBytes
}

export async function readListCopy(context: KvContext, key: string): Promise<HeldList | undefined> {
  const copy = await readCopy(context, 'plans', key)
  if (copy === undefined) return undefined
  const { etag, revision, currentAtMs, bytes } = copy.metadata
  const isList =
    typeof etag === 'string' &&
    /^"[\w-]{22}"$/.test(etag) &&
    Number.isSafeInteger(revision) &&
    Number.isSafeInteger(currentAtMs) &&
    bytes === copy.body.byteLength &&
    isJsonObjectText(copy.body)
  if (isList) {
    const times = { revision: Number(revision), currentAtMs: Number(currentAtMs), storedAtMs: Number(currentAtMs) }
    return { body: copy.body, etag, ...times }
  }
  context.warn({ event: 'kv_garbled', entry: 'plans' })
  return undefined
}

/** @returns whether KV accepted the copy */
export function writeListCopy(context: KvContext, key: string, list: HeldList): Promise<boolean> {
  const { body, etag, revision, currentAtMs } = list
  return writeCopy(context, 'plans', key, body, { etag, revision, currentAtMs, bytes: body.byteLength })
}

export interface PartnerCopy {
  partner: PartnerAccess
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
}

export async function readPartnerCopy(context: KvContext, key: string): Promise<PartnerCopy | undefined> {
  const copy = await readCopy(context, 'partner', key)
  if (copy === undefined) return undefined
  const partner = parsePartner(copy.body)
  const { checkedAtMs } = copy.metadata
  if (partner && Number.isSafeInteger(checkedAtMs)) return { partner, checkedAtMs: Number(checkedAtMs) }
  context.warn({ event: 'kv_garbled', entry: 'partner' })
  return undefined
}

/** @returns whether KV accepted the copy */
export function writePartnerCopy(context: KvContext, key: string, copy: PartnerCopy): Promise<boolean> {
  const { shortName, country, isSuspended } = copy.partner
  const body = new TextEncoder().encode(JSON.stringify({ shortName, country, isSuspended }))
  return writeCopy(context, 'partner', key, body, { checkedAtMs: copy.checkedAtMs })
}

/** A cheap check of shape. KV guarantees the bytes themselves, so they are not hashed again. */
function isJsonObjectText(body: Uint8Array): boolean {
  return body.at(0) === 0x7b && body.at(-1) === 0x7d
}

/** Every member must have its type: a record without `isSuspended` must never read as an active partner. */
function parsePartner(body: Uint8Array): PartnerAccess | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder().decode(body))
  } catch {
    return undefined
  }
  const { shortName, country, isSuspended } = isJsonObject(parsed) ? parsed : {}
  if (typeof shortName !== 'string' || typeof country !== 'string' || typeof isSuspended !== 'boolean') return undefined
  return { shortName, country, isSuspended }
}

type Kind = 'plans' | 'partner'

async function readCopy({ kv, warn }: KvContext, kind: Kind, key: string) {
  if (kv === undefined || key.length > maxKeyLength) return undefined
  try {
    const { value, metadata } = await withDeadline(kv.getWithMetadata(key, 'arrayBuffer'), deadlineMs, 'KV')
    if (value === null) return undefined
    return { body: new Uint8Array(value), metadata: isJsonObject(metadata) ? metadata : {} }
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'get', entry: kind, reason: describeError(error) })
    return undefined
  }
}

async function writeCopy({ kv, warn }: KvContext, kind: Kind, key: string, body: Uint8Array, metadata: object) {
  if (kv === undefined || key.length > maxKeyLength) return false
  try {
    await kv.put(key, body, { metadata, expirationTtl: staleIfErrorMs / 1000 })
    return true
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'put', entry: kind, reason: describeError(error) })
    return false
  }
}
