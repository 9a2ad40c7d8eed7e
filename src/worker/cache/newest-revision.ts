// The newest revision of the catalog that an isolate has seen. A list of any other revision is outdated.
import type { CacheContext } from './cache-context.ts'
import type { CatalogSession } from './catalog-source.ts'

export type NewestRevision = ReturnType<typeof createNewestRevision>

type Read<T> = (from: CatalogSession) => Promise<T>

export function createNewestRevision() {
  let newest = 0

  /** Reads from the primary. */
  async function readPrimary<T extends { revision: number }>(context: CacheContext, read: Read<T>): Promise<T> {
    const newestBefore = newest
    const primary = await read(context.openSession('primary'))
    // Another request may have seen a newer revision meanwhile, or an older one.
    newest = newest === newestBefore ? primary.revision : Math.max(newest, primary.revision)
    return primary
  }

  return {
    get: () => newest,
    is: (revision: number) => revision === newest,
    /**
     * Reads from the nearest replica. A revision below the newest, or below `minRevision`, means that this replica lags behind
     * another one, or that the database was restored to an earlier time. The primary's answer decides.
     */
    read: async <T extends { revision: number }>(context: CacheContext, minRevision: number, read: Read<T>) => {
      const nearest = await read(context.openSession('nearest'))
      newest = Math.max(newest, nearest.revision)
      if (nearest.revision === newest && nearest.revision >= minRevision) return nearest
      return readPrimary(context, read)
    },
    readPrimary,
  }
}
