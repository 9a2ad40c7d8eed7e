// What an isolate knows about clients: D1's latest answer, the check, and KV's copy, which counts only while D1 fails.
import type { PartnerAccess, PartnerCheck } from '../../db/client-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { CacheContext } from './cache-context.ts'
import { renewCopy, type Copied } from './copy-renewal.ts'
import type { D1State } from './d1-state.ts'
import { computeAgeMs, computeAsOfMs, isUsableInOutage, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import { readStoredPartner, writePartnerCopy, type PartnerCopy, type StoredPartner } from './kv-copies.ts'
import { createSharedWork } from './shared-work.ts'

/** D1's answer about a client. */
export interface Check extends Pick<PartnerCheck, 'partner' | 'changeId'> {
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
  /** Counts the questions of this isolate: a clock can step back, and this can't. */
  order: number
}

interface KnownClient extends Copied {
  check: Check | undefined
  /** What KV had when it was last read, while D1 failed. A copy has no revision, so it must not become a check. */
  stored: (StoredPartner & { readAtMs: number }) | undefined
}

/** @param clock the time in Unix milliseconds */
export function createPartnerChecks(maxPartners: number, d1: D1State, clock: () => number) {
  const clients = createBoundedMap<KnownClient>(maxPartners)
  const shareCheck = createSharedWork<Check>(clock)
  let lastOrder = 0

  /** Reads KV once a minute. */
  async function readStored(context: CacheContext, clientId: string): Promise<StoredPartner> {
    const before = clients.get(clientId)?.stored
    if (before && computeAgeMs(before.readAtMs, clock()) < maxAgeMs) return before
    // While KV fails, too, what it had a minute ago is better than nothing.
    const read = (await readStoredPartner(context, clientId)) ?? before ?? { copy: undefined, endedAtMs: 0 }
    const stored = { ...read, readAtMs: clock() }
    const client = clients.get(clientId)
    if (client) client.stored = stored
    // Otherwise, random client IDs would fill the memory.
    else if (stored.copy || stored.endedAtMs > 0) clients.set(clientId, { check: undefined, stored, storedAtMs: 0 })
    return stored
  }

  async function ask(context: CacheContext, read: () => Promise<PartnerCheck>): Promise<Check> {
    const order = ++lastOrder
    const { partner, changeId } = await read()
    return { partner, changeId, checkedAtMs: context.nowMs, order }
  }

  /**
   * Keeps an answer of D1 in memory and in KV, unless a later question was answered first. It wins over any copy read before,
   * and over a mark unless its source may have lacked the change.
   */
  function keep(context: CacheContext, clientId: string, check: Check): Check {
    const known = clients.get(clientId)
    if (known?.check && known.check.order >= check.order) return known.check
    const client: KnownClient = known ?? { check, stored: undefined, storedAtMs: 0 }
    const endedAtMs = client.stored?.endedAtMs ?? 0
    if (endedAtMs > 0 || !isSamePartner(client.check?.partner, check.partner)) client.storedAtMs = 0
    client.check = check
    if (endedAtMs <= computeAsOfMs(check.checkedAtMs)) client.stored = undefined
    clients.set(clientId, client)
    renewPartnerCopy(context, clientId, client, check)
    return check
  }

  return {
    /** D1's latest answer, of any age. */
    get: (clientId: string) => clients.get(clientId)?.check,

    /** Asks D1. Shared by all requests of the isolate that need the same partner. */
    renew: (context: CacheContext, clientId: string) =>
      shareCheck(clientId, context, async () => {
        // A token proves that its partner existed, and memory knows a change of it: a replica without them lags behind.
        const isAsNew = ({ partner, changeId }: PartnerCheck) =>
          partner !== undefined && changeId >= (clients.get(clientId)?.check?.changeId ?? 0)
        const read = () => d1.readNearest(context, (from) => from.checkPartner(clientId), isAsNew)
        return keep(context, clientId, await ask(context, read))
      }),

    /**
     * Asks the primary, because a new secret would fail on a replica that lags behind. Not shared. The answer replaces an older
     * check, and is kept otherwise only when the client is known to be right: anybody can send a client ID.
     */
    askPrimary: async (context: CacheContext, clientId: string): Promise<Check> => {
      const check = await ask(context, () => d1.readPrimary(context, (from) => from.checkPartner(clientId)))
      if (clients.get(clientId)?.check) keep(context, clientId, check)
      return check
    },

    keep,

    /**
     * While D1 fails: the newer one of memory's check and KV's copy, but none from before an operator ended the partner's access.
     * In a pause, a young check, without waiting for KV.
     */
    readOld: async (context: CacheContext, clientId: string, isPaused: boolean) => {
      const check = clients.get(clientId)?.check
      if (check && isPaused && computeAgeMs(check.checkedAtMs, context.nowMs) <= staleWhileRevalidateMs) return check
      const { copy, endedAtMs } = await readStored(context, clientId)
      const isUsable = (old: Check | PartnerCopy | undefined) =>
        old && computeAsOfMs(old.checkedAtMs) >= endedAtMs && isUsableInOutage(old.checkedAtMs, context.nowMs)
      const [held, stored] = [isUsable(check) ? check : undefined, isUsable(copy) ? copy : undefined]
      return held && held.checkedAtMs >= (stored?.checkedAtMs ?? 0) ? held : stored
    },
  }
}

/** Never writes an answer of D1 that a newer one contradicts, or that may lack the change of an operator's mark. */
function renewPartnerCopy(
  context: CacheContext,
  clientId: string,
  client: KnownClient,
  { partner, checkedAtMs }: Check,
): void {
  if (partner === undefined) return
  let markedAtMs = 0
  const readTime = async () => {
    const stored = await readStoredPartner(context, clientId)
    markedAtMs = stored?.endedAtMs ?? 0
    return stored?.copy && isSamePartner(stored.copy.partner, partner) ? stored.copy.checkedAtMs : 0
  }
  const write = async () =>
    isSamePartner(client.check?.partner, partner) &&
    markedAtMs <= computeAsOfMs(checkedAtMs) &&
    writePartnerCopy(context, clientId, { partner, checkedAtMs })
  renewCopy(context, client, checkedAtMs, readTime, write)
}

function isSamePartner(one: PartnerAccess | undefined, other: PartnerAccess | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
