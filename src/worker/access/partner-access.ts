// The partner of a token, cached like plan lists: a suspension or another country reaches live tokens within two minutes.
import type { CacheEntry } from '../cache/cache-entry.ts'
import { readThrough, type Cache } from '../cache/read-through.ts'
import { openNearestDatabase, runQuery } from '../../db/database.ts'
import { selectPartnerAccess, type PartnerAccess } from '../../db/partner-queries.ts'

/** As long as the isolate holds an entry, it is parsed once. */
const decoded = new WeakMap<CacheEntry, PartnerAccess>()

/** What is under this key is outdated when the partner changes. */
export function partnerAccessKey(clientId: string): string {
  return `partner:v1:${clientId}`
}

/** @throws StorageError when D1 can't answer and there is no usable copy. */
export async function findPartnerAccess(
  d1: D1Database,
  cache: Cache,
  clientId: string,
): Promise<PartnerAccess | undefined> {
  const { entry } = await readThrough(cache, partnerAccessKey(clientId), async () => {
    const partner = await runQuery(selectPartnerAccess(openNearestDatabase(d1), clientId))
    return { body: new TextEncoder().encode(JSON.stringify(partner ?? null)), isStorable: partner !== undefined }
  })
  const known = decoded.get(entry)
  if (known) return known
  const partner: PartnerAccess | null = JSON.parse(new TextDecoder().decode(entry.body))
  if (partner === null) return undefined
  decoded.set(entry, partner)
  return partner
}
