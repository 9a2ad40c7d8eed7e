import { expect } from 'vitest'
// What tests do with D1, KV and a store, whichever runtime they are in.
import type { Database } from '../../../src/db/database.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { Store } from '../../../src/ops/store/store.ts'

export async function emptyDatabase({ DB }: Pick<Env, 'DB'>): Promise<void> {
  const tables = ['partner_secrets', 'partners', 'plan_viewability', 'plans', 'plan_versions', 'publication_entries']
  await editRecords(
    DB,
    ...tables.map((table) => `delete from ${table}`),
    'update publications set undone_id = null',
    'delete from publications',
    'delete from change_record',
  )
}

/** The triggers of the records, as the migrations create them. */
let triggers: { name: string; sql: string }[] | undefined

/** Runs statements, also those that the triggers of the records refuse. */
export async function editRecords(d1: D1Database, ...statements: string[]): Promise<void> {
  const query = `select name, sql from sqlite_master
    where type = 'trigger' and tbl_name in ('change_record', 'publication_entries')`
  triggers ??= (await d1.prepare(query).all<{ name: string; sql: string }>()).results
  await d1.batch(
    [...triggers.map(({ name }) => `drop trigger ${name}`), ...statements, ...triggers.map(({ sql }) => sql)].map(
      (statement) => d1.prepare(statement),
    ),
  )
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

/** @returns what does not fit, without the advice; undefined when the record is intact. */
export function findRecordProblem(verification: Promise<unknown>): Promise<string | undefined> {
  return verification.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof UserError)) throw error
      expect(error.message).toMatch(/\nCompare the record with a backup\.$/)
      return error.message.replace(/\n.*$/, '')
    },
  )
}
