// Listing the keys of the KV cache with a binding, as in the local state.
import type { CachedKey } from './store.ts'

export async function listBindingKeys(kv: KVNamespace, prefix: string): Promise<CachedKey[]> {
  const keys: CachedKey[] = []
  let page = await kv.list({ prefix })
  keys.push(...page.keys)
  while (!page.list_complete) {
    page = await kv.list({ prefix, cursor: page.cursor })
    keys.push(...page.keys)
  }
  return keys
}
