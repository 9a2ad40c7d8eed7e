// What tests do with D1, KV and a store, whichever runtime they are in.
import type { Store } from '../../../src/ops/store/store.ts'

export async function emptyDatabase({ DB }: Pick<Env, 'DB'>): Promise<void> {
  const tables = ['partner_secrets', 'partners', 'plan_viewability', 'plan_minimums', 'plans', 'catalog_staging']
  await DB.batch(tables.map((table) => DB.prepare(`delete from ${table}`)))
}

/** Fills the cache, runs `work`, and returns the keys that are left. */
export async function listKeysAfter(kv: KVNamespace, keys: string[], work: () => Promise<unknown>): Promise<string[]> {
  for (const key of keys) await kv.put(key, 'old')
  await work()
  const left = (await kv.list()).keys.map(({ name }) => name)
  for (const key of left) await kv.delete(key)
  return left
}

/** Runs `interrupt` between the reads of a change and its first write, as another operator would. */
export function interruptFirstWrite(store: Store, interrupt: () => Promise<unknown>): Store {
  let isInterrupted = false
  return {
    ...store,
    write: async (statements) => {
      if (!isInterrupted) {
        isInterrupted = true
        await interrupt()
      }
      await store.write(statements)
    },
  }
}
