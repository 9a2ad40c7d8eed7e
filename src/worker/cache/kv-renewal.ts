// Decides when KV's copies are written: at once after a change, otherwise once an hour by one isolate.
import type { PartnerAccess } from '../../db/partner-queries.ts'
import type { CacheContext } from './cache-context.ts'
import { getPartnerKey } from '../../api/cache-keys.ts'
import { computeAgeMs, kvRetryMs, kvRewriteMs } from './freshness.ts'
import { canStore, readListCopy, readPartnerCopy, writeListCopy, writePartnerCopy } from './kv-copies.ts'
import type { HeldList } from './list-memory.ts'

/** The check of a client in the memory of an isolate. */
export interface HeldCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
  /** The `checkedAtMs` that this isolate last saw in KV's copy, 0 if it saw none. */
  storedAtMs: number
}

/** Writes a list to KV after the response. */
export function storeListCopy(context: CacheContext, key: string, list: HeldList): void {
  if (!canStore(context, key, list.body)) return
  list.storedAtMs = list.currentAtMs
  context.waitUntil(writeList(context, key, list))
}

/** Tries again later if KV refuses: it accepts one write per second per key. */
async function writeList(context: CacheContext, key: string, list: HeldList): Promise<void> {
  if (!(await writeListCopy(context, key, list))) list.storedAtMs = list.currentAtMs - kvRewriteMs + kvRetryMs
}

/** Writes an old copy again, unless a read (a tenth of the cost) shows that another isolate did. */
export async function renewListCopy(context: CacheContext, key: string, list: HeldList): Promise<void> {
  list.storedAtMs = list.currentAtMs
  const copy = await readListCopy(context, key)
  // Keeps a recent copy whose revision is as new or newer.
  const isRecent =
    copy && copy.revision >= list.revision && computeAgeMs(copy.currentAtMs, context.nowMs) <= kvRewriteMs
  if (isRecent) list.storedAtMs = copy.currentAtMs
  else await writeList(context, key, list)
}

/**
 * Writes a partner to KV if it changed, or if the copy is old and no other isolate has written it.
 * @param before the partner of the previous check, undefined if this isolate had none
 */
export async function storePartnerCopy(
  context: CacheContext,
  clientId: string,
  check: HeldCheck,
  before: PartnerAccess | undefined,
): Promise<void> {
  const { partner, checkedAtMs } = check
  if (partner === undefined) return
  // The response goes first: in a new isolate, calling KV takes several milliseconds of CPU.
  await new Promise((resolve) => setTimeout(resolve, 0))
  const key = getPartnerKey(clientId)
  const isChanged = before !== undefined && !isSamePartner(before, partner)
  if (!isChanged) {
    if (computeAgeMs(check.storedAtMs, context.nowMs) <= kvRewriteMs) return
    check.storedAtMs = checkedAtMs
    const copy = await readPartnerCopy(context, key)
    if (copy && isSamePartner(copy.partner, partner) && computeAgeMs(copy.checkedAtMs, context.nowMs) <= kvRewriteMs) {
      check.storedAtMs = copy.checkedAtMs
      return
    }
  }
  check.storedAtMs = checkedAtMs
  const isStored = await writePartnerCopy(context, key, { partner, checkedAtMs })
  if (!isStored) check.storedAtMs = checkedAtMs - kvRewriteMs + kvRetryMs
}

function isSamePartner(one: PartnerAccess, other: PartnerAccess): boolean {
  return one.shortName === other.shortName && one.country === other.country && one.isSuspended === other.isSuspended
}
