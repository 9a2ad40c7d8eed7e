// Where the account keeps the contents of databases and namespaces.

export interface Stores {
  addDatabase: (id: string) => Promise<void>
  addNamespace: (id: string) => Promise<void>
  /** `isWrite` tells that the database is about to change. */
  openDatabase: (id: string, use: { isWrite: boolean }) => Promise<D1Database>
  openNamespace: (id: string) => Promise<KVNamespace>
  /** Time Travel: the bookmark of the state at a time; undefined when there was no database. */
  findBookmark: (id: string, timeMs: number) => Promise<string | undefined>
  /** @returns whether there is such a bookmark. */
  restore: (id: string, bookmark: string) => Promise<boolean>
}

/** Stores that somebody else opened. They have no Time Travel, and nothing can be added. */
export function useStores({ DB, CATALOG_CACHE }: Pick<Env, 'DB' | 'CATALOG_CACHE'>): Stores {
  const refuse = () => Promise.reject(new Error('this account has one database and one namespace'))
  return {
    addDatabase: refuse,
    addNamespace: refuse,
    openDatabase: () => Promise.resolve(DB),
    openNamespace: () => Promise.resolve(CATALOG_CACHE),
    findBookmark: () => Promise.resolve(undefined),
    restore: () => Promise.resolve(false),
  }
}
