// The checks of partners: in memory, renewed from D1, and copied to KV for an outage.
import type { PartnerAccess, PartnerCheck } from '../../db/client-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { letResponseGo, type CacheContext } from './cache-context.ts'
import {
  computeAgeMs,
  isUsableInOutage,
  kvRetryMs,
  kvRewriteMs,
  maxAgeMs,
  staleWhileRevalidateMs,
} from './freshness.ts'
import { readStoredPartner, writePartnerCopy, type PartnerCopy, type StoredPartner } from './kv-copies.ts'
import type { NewestRevision } from './newest-revision.ts'
import type { D1Failure, Outage } from './outage.ts'
import { createSharedWork } from './shared-work.ts'

/** D1's answer about a client. */
export interface AskedCheck extends Pick<PartnerCheck, 'partner' | 'changeId'> {
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
  /** Counts the questions of this isolate: a clock can step back, and this can't. */
  order: number
}

/** The check of a client in the memory of an isolate. */
export interface HeldCheck extends AskedCheck {
  /** The `checkedAtMs` that this isolate last saw in KV's copy, 0 if it saw none. */
  storedAtMs: number
}

/** @param clock the time in Unix milliseconds */
export function createPartnerChecks(
  maxPartners: number,
  newestRevision: NewestRevision,
  outage: Outage,
  clock: () => number,
) {
  const checks = createBoundedMap<HeldCheck>(maxPartners)
  /**
   * What KV has, read while D1 fails. Copies have no revision, so they must not become checks. A missing one is remembered for
   * a partner that memory knows: otherwise random client IDs would fill this.
   */
  const storedPartners = createBoundedMap<StoredPartner & { readAtMs: number }>(maxPartners)
  const shareCheck = createSharedWork<HeldCheck>(clock)
  let lastOrder = 0

  /** Reads KV once a minute. */
  async function readStored(context: CacheContext, clientId: string): Promise<StoredPartner> {
    const known = storedPartners.get(clientId)
    if (known && computeAgeMs(known.readAtMs, clock()) < maxAgeMs) return known
    // While KV fails, too, what it had a minute ago is better than nothing.
    const read = (await readStoredPartner(context, clientId)) ?? known ?? { copy: undefined, endedAtMs: 0 }
    const stored = { ...read, readAtMs: clock() }
    if (stored.copy || stored.endedAtMs > 0 || checks.get(clientId)) storedPartners.set(clientId, stored)
    return stored
  }

  async function ask(context: CacheContext, read: () => Promise<PartnerCheck>): Promise<AskedCheck> {
    const order = ++lastOrder
    const { partner, changeId } = await outage.ask(read)
    return { partner, changeId, checkedAtMs: context.nowMs, order }
  }

  /** Keeps an answer of D1 in memory and in KV, unless a later question was answered first. It wins over any copy read before. */
  function keep(context: CacheContext, clientId: string, asked: AskedCheck): HeldCheck {
    const held = checks.get(clientId)
    if (held && held.order >= asked.order) return held
    const isMarked = (storedPartners.get(clientId)?.endedAtMs ?? 0) > 0
    const check = { ...asked, storedAtMs: isMarked ? 0 : (held?.storedAtMs ?? 0) }
    checks.set(clientId, check)
    storedPartners.delete(clientId)
    context.waitUntil(storeCopy(context, clientId, check, held?.partner, () => checks.get(clientId)))
    return check
  }

  return {
    /** The check in memory, of any age. */
    get: (clientId: string) => checks.get(clientId),

    /** Asks D1. Shared by all requests of the isolate that need the same partner. */
    renew: (context: CacheContext, clientId: string) =>
      shareCheck(clientId, context, async () => {
        const asked = await ask(context, async () => {
          const check = await newestRevision.read(context, 0, (from) => from.checkPartner(clientId))
          // A token proves that its partner existed, and memory knows a change of it: a replica without them lags behind.
          const isAsNew = check.partner && check.changeId >= (checks.get(clientId)?.changeId ?? 0)
          return isAsNew ? check : context.openSession('primary').checkPartner(clientId)
        })
        return keep(context, clientId, asked)
      }),

    /**
     * Asks the primary, because a new secret would fail on a replica that lags behind. Not shared. The answer replaces an older
     * check, and is kept otherwise only when the client is known to be right: anybody can send a client ID.
     */
    askPrimary: async (context: CacheContext, clientId: string) => {
      const asked = await ask(context, () => newestRevision.readPrimary(context, (from) => from.checkPartner(clientId)))
      if (checks.get(clientId)) keep(context, clientId, asked)
      return asked
    },

    keep,

    /**
     * While D1 fails: the newer one of memory's check and KV's copy, but none from before an operator ended the partner's access.
     * In a pause, a young check, without waiting for KV.
     */
    readOld: async (context: CacheContext, clientId: string, d1Failure: D1Failure) => {
      const held = checks.get(clientId)
      if (held && d1Failure === 'paused' && computeAgeMs(held.checkedAtMs, context.nowMs) <= staleWhileRevalidateMs)
        return held
      const { copy, endedAtMs } = await readStored(context, clientId)
      const isUsable = (old: HeldCheck | PartnerCopy | undefined) =>
        old && old.checkedAtMs >= endedAtMs && isUsableInOutage(old.checkedAtMs, context.nowMs)
      const [check, stored] = [isUsable(held) ? held : undefined, isUsable(copy) ? copy : undefined]
      return check && check.checkedAtMs >= (stored?.checkedAtMs ?? 0) ? check : stored
    },
  }
}

/**
 * Writes a partner to KV if it changed, or if the copy is old and no other isolate has written it. Never writes an answer of D1
 * that a newer one contradicts, or that is older than an operator's mark.
 * @param before the partner of the previous check, undefined if this isolate had none
 * @param getNewest the check that memory has now: while this one is written, checks that say the same rely on it
 */
async function storeCopy(
  context: CacheContext,
  clientId: string,
  check: HeldCheck,
  before: PartnerAccess | undefined,
  getNewest: () => HeldCheck | undefined,
): Promise<void> {
  const { partner, checkedAtMs } = check
  if (partner === undefined) return
  await letResponseGo()
  const isChanged = before !== undefined && !isSamePartner(before, partner)
  if (!isChanged && computeAgeMs(check.storedAtMs, context.nowMs) <= kvRewriteMs) return
  check.storedAtMs = checkedAtMs
  const { copy, endedAtMs } = (await readStoredPartner(context, clientId)) ?? { copy: undefined, endedAtMs: 0 }
  if (!isSamePartner(getNewest()?.partner, partner)) return
  const isRecent =
    copy && isSamePartner(copy.partner, partner) && computeAgeMs(copy.checkedAtMs, context.nowMs) <= kvRewriteMs
  let storedAtMs = checkedAtMs
  if (isRecent) storedAtMs = copy.checkedAtMs
  else if (endedAtMs > checkedAtMs || !(await writePartnerCopy(context, clientId, { partner, checkedAtMs }))) {
    storedAtMs = checkedAtMs - kvRewriteMs + kvRetryMs
  }
  const newest = getNewest()
  if (newest) newest.storedAtMs = storedAtMs
}

function isSamePartner(one: PartnerAccess | undefined, other: PartnerAccess): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
