// The KV tier: the value is the body, the metadata the rest. KV is optional: missing, failing, slow or garbled, it is a
// miss and never an error.
import { withDeadline } from '../../db/deadline.ts'
import { isJsonObject } from '../../json.ts'
import { describeError, type Warn } from '../http/log.ts'
import { computeEtag, type CacheEntry } from './cache-entry.ts'

const deadlineMs = 2000

export interface KvTier {
  kv: KVNamespace | undefined
  warn: Warn
}

export async function readFromKv({ kv, warn }: KvTier, key: string): Promise<CacheEntry | undefined> {
  if (kv === undefined) return undefined
  try {
    const { value, metadata } = await withDeadline(kv.getWithMetadata(key, 'arrayBuffer'), deadlineMs, 'KV')
    if (value === null) return undefined
    const body = new Uint8Array(value)
    const { etag, storedAtMs } = isJsonObject(metadata) ? metadata : {}
    // A damaged or foreign value is not the one that its ETag was made of. (Some 5 % of what reading 37 kB costs.)
    if (typeof storedAtMs === 'number' && etag === (await computeEtag(body))) return { body, etag, storedAtMs }
    warn({ event: 'kv_garbled', entry: kindOf(key) })
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'get', reason: describeError(error) })
  }
  return undefined
}

/** What the log may have of a key: the rest of it names a client, or is what a caller sent. */
export function kindOf(key: string): string {
  return key.slice(0, key.indexOf(':'))
}

/** Never throws. */
export async function writeToKv(
  { kv, warn }: KvTier,
  key: string,
  { body, etag, storedAtMs }: CacheEntry,
  lifetimeSeconds: number,
): Promise<void> {
  try {
    await kv?.put(key, body, { metadata: { etag, storedAtMs }, expirationTtl: lifetimeSeconds })
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'put', reason: describeError(error) })
  }
}

/** Never throws. */
export async function deleteFromKv({ kv, warn }: KvTier, key: string): Promise<void> {
  try {
    await kv?.delete(key)
  } catch (error) {
    warn({ event: 'kv_failed', operation: 'delete', reason: describeError(error) })
  }
}
