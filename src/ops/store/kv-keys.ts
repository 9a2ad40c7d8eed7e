// Listing the keys of the KV cache with a binding, as in the local state.
import type { CachedKey } from './store.ts'

interface Namespace {
  list: (options: { prefix: string; cursor?: string }) => Promise<{ keys: CachedKey[]; cursor?: string }>
}

export async function listBindingKeys(kv: Namespace, prefix: string, cursor?: string): Promise<CachedKey[]> {
  const page = await kv.list({ prefix, ...(cursor !== undefined && { cursor }) })
  return page.cursor ? [...page.keys, ...(await listBindingKeys(kv, prefix, page.cursor))] : page.keys
}
