// Where the account keeps the contents of databases and namespaces.
import { join } from 'node:path'
import { Miniflare, type WorkerOptions } from 'miniflare'

export interface Stores {
  addDatabase: (id: string) => Promise<void>
  addNamespace: (id: string) => Promise<void>
  openDatabase: (id: string) => Promise<D1Database>
  openNamespace: (id: string) => Promise<KVNamespace>
}

/** Returns stores that the caller has opened. None can be added. */
export function useStores({ DB, CATALOG_CACHE }: Pick<Env, 'DB' | 'CATALOG_CACHE'>): Stores {
  const refuse = () => Promise.reject(new Error('this account has one database and one namespace'))
  return {
    addDatabase: refuse,
    addNamespace: refuse,
    openDatabase: () => Promise.resolve(DB),
    openNamespace: () => Promise.resolve(CATALOG_CACHE),
  }
}

/** Starts the local runtime with stores in memory, or in a state folder as `wrangler dev` uses it. @param env the first stores. */
export async function startStores(
  env: NonNullable<WorkerOptions['config']['env']> = {},
  persistTo?: string,
): Promise<Stores & { close: () => Promise<void> }> {
  const modules = { 'index.js': { type: 'esm' as const, contents: 'export default {}' } }
  const manifest = { mainModule: 'index.js', modules }
  const describe = () => ({
    ...(persistTo !== undefined && { resourcePersistencePath: join(persistTo, 'v3') }),
    workers: [{ config: { name: 'account', compatibilityDate: '2026-10-23', manifest, env } }],
  })
  const miniflare = new Miniflare(describe())
  const add = async (id: string, type: 'd1' | 'kv') => {
    env[id] = { type, id }
    await miniflare.setOptions(describe())
  }
  return {
    addDatabase: (id) => add(id, 'd1'),
    addNamespace: (id) => add(id, 'kv'),
    openDatabase: (id) => miniflare.getD1Database(id),
    openNamespace: async (id) => {
      const kv: unknown = await miniflare.getKVNamespace(id)
      return kv as KVNamespace
    },
    close: () => miniflare.dispose(),
  }
}
