// Finds the partner of a token through the cache: a suspension or a new country applies to live tokens within two minutes.
import type { CacheEntry } from '../cache/cache-entry.ts'
import { getPartnerKey } from '../cache/cache-keys.ts'
import type { CacheContext, ReadThrough } from '../cache/read-through.ts'
import { selectPartnerAccess, type PartnerAccess } from '../../db/partner-queries.ts'
import { openNearestDatabase, queryD1 } from '../query-d1.ts'

/** @throws StorageError when D1 does not answer and there is no usable copy */
export type FindPartner = (
  d1: D1Database,
  context: CacheContext,
  clientId: string,
) => Promise<PartnerAccess | undefined>

export function createPartnerAccess(readThrough: ReadThrough): FindPartner {
  /** Parses each entry once, for as long as the cache holds it. */
  const decoded = new WeakMap<CacheEntry, PartnerAccess>()

  return async (d1, context, clientId) => {
    const { entry } = await readThrough(context, getPartnerKey(clientId), async () => {
      const partner = await queryD1(selectPartnerAccess(openNearestDatabase(d1), clientId))
      return { body: new TextEncoder().encode(JSON.stringify(partner ?? null)), isStorable: partner !== undefined }
    })
    const known = decoded.get(entry)
    if (known) return known
    const partner: PartnerAccess | null = JSON.parse(new TextDecoder().decode(entry.body))
    if (partner === null) return undefined
    decoded.set(entry, partner)
    return partner
  }
}
