// What tests do with D1 and KV, whichever runtime they are in.

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
