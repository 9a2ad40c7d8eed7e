// Listing the keys of the KV cache with a binding, as in the local state.
import type { CachedKey } from './store.ts'

interface Namespace {
  list: (options: { prefix: string; cursor?: string }) => Promise<KeyPage>
}

interface KeyPage {
  keys: CachedKey[]
  list_complete: boolean
  cursor?: string
}

export async function listBindingKeys(kv: Namespace, prefix: string): Promise<CachedKey[]> {
  const keys: CachedKey[] = []
  let page: KeyPage = await kv.list({ prefix })
  keys.push(...page.keys)
  while (page.cursor !== undefined && !page.list_complete) {
    page = await kv.list({ prefix, cursor: page.cursor })
    keys.push(...page.keys)
  }
  return keys
}
