// What tests do with D1, KV and a store, whichever runtime they are in.
import type { Database } from '../../../src/db/database.ts'
import type { Store } from '../../../src/ops/store/store.ts'

export async function emptyDatabase({ DB }: Pick<Env, 'DB'>): Promise<void> {
  const tables = ['publications', 'plan_versions', 'change_record', 'partner_contacts']
  await DB.batch(tables.map((table) => DB.prepare(`delete from ${table}`)))
}

/** Fills the cache, runs `work`, and returns the keys that are left. A mark of a partner has no value, so it does not count. */
export async function listKeysAfter(kv: KVNamespace, keys: string[], work: () => Promise<unknown>): Promise<string[]> {
  for (const key of keys) await kv.put(key, 'old')
  await work()
  const left: string[] = []
  for (const { name } of (await kv.list()).keys) {
    if ((await kv.get(name)) !== '') left.push(name)
    await kv.delete(name)
  }
  return left
}

/** A store on which `intercept` runs in the place of each statement without rows: a change that is recorded, or staged rows. */
export function interceptChanges(
  store: Store,
  intercept: (call: () => Promise<unknown>) => Promise<unknown>,
  handle: 'commit' | 'stage' = 'commit',
): Store {
  const original = store[handle]
  const run = (...args: Parameters<Database['run']>) => intercept(async () => original.run(...args))
  const get = (db: Database, name: string | symbol) => (name === 'run' ? run : (Reflect.get(db, name) as unknown))
  return { ...store, [handle]: new Proxy(original, { get }) }
}

/** Runs `interrupt` between the reads of a change and its first write, as another operator would. */
export function interruptFirstWrite(store: Store, interrupt: () => Promise<unknown>): Store {
  let isInterrupted = false
  return interceptChanges(store, async (call) => {
    if (!isInterrupted) {
      isInterrupted = true
      await interrupt()
    }
    return call()
  })
}
