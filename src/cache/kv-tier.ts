// The KV tier: the value is the body, the metadata the rest. KV is optional: missing, failing, slow or garbled, it is a
// miss and never an error.
import { withDeadline } from '../deadline.ts'
import { isJsonObject } from '../json.ts'
import { describeError, log } from '../log.ts'
import { computeEtag, type CacheEntry } from './entry.ts'

const deadlineMs = 2000

export async function readFromKv(kv: KVNamespace | undefined, key: string): Promise<CacheEntry | undefined> {
  if (kv === undefined) return undefined
  try {
    const { value, metadata } = await withDeadline(kv.getWithMetadata(key, 'arrayBuffer'), deadlineMs, 'KV')
    if (value === null) return undefined
    const body = new Uint8Array(value)
    const { etag, storedAtMs } = isJsonObject(metadata) ? metadata : {}
    // A damaged or foreign value is not the one that its ETag was made of. (Some 5 % of what reading 37 kB costs.)
    if (typeof storedAtMs === 'number' && etag === (await computeEtag(body))) return { body, etag, storedAtMs }
    log('warn', { event: 'kv_garbled', key })
  } catch (error) {
    log('warn', { event: 'kv_failed', operation: 'get', reason: describeError(error) })
  }
  return undefined
}

/** Never throws. */
export async function writeToKv(
  kv: KVNamespace | undefined,
  key: string,
  { body, etag, storedAtMs }: CacheEntry,
  lifetimeSeconds: number,
): Promise<void> {
  try {
    await kv?.put(key, body, { metadata: { etag, storedAtMs }, expirationTtl: lifetimeSeconds })
  } catch (error) {
    log('warn', { event: 'kv_failed', operation: 'put', reason: describeError(error) })
  }
}

/** Never throws. */
export async function deleteFromKv(kv: KVNamespace | undefined, key: string): Promise<void> {
  try {
    await kv?.delete(key)
  } catch (error) {
    log('warn', { event: 'kv_failed', operation: 'delete', reason: describeError(error) })
  }
}
