// What an isolate knows about clients: the check, which is D1's latest answer, and KV's copy, which counts only while D1 fails.
import type { PartnerAccess, PartnerCheck } from '../../db/client-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { CacheContext } from './cache-context.ts'
import { isRecentCopy, renewCopy, type Copied } from './copy-renewal.ts'
import type { NewestChange, D1State } from './d1-state.ts'
import { computeAgeMs, computeAsOfMs, isUsableInOutage, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import { readStoredPartner, writePartnerCopy, type PartnerCopy, type StoredPartner } from './kv-copies.ts'
import { createSharedWork } from './shared-work.ts'

/** D1's answer about a client. */
export interface ClientCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** The newest change of this partner. The command that made it has put a mark in the place of KV's copy. */
  partnerChangeId: number | null
  /** The newest change of any partner when the row was read. The check is confirmed by any answer of D1 with the same change. */
  change: NewestChange
  /** Unix milliseconds at which D1 was asked for the partner's row. */
  readAtMs: number
  /** Unix milliseconds at which D1 last confirmed the check. */
  readonly checkedAtMs: number
}

/** A client in memory. `storedAtMs` is about the partner's copy in KV. */
export interface KnownClient extends Copied {
  check: ClientCheck | undefined
  /** KV's entry as it was last read, while D1 failed. It has no change ID, so no answer of D1 could confirm it. */
  stored: (StoredPartner & { readAtMs: number }) | undefined
}

/** @param clock the time in Unix milliseconds */
export function createPartnerChecks(maxPartners: number, d1: D1State, clock: () => number) {
  const clients = createBoundedMap<KnownClient>(maxPartners)
  const shareRow = createSharedWork<ClientCheck>(clock)
  const shareRenewal = createSharedWork<ClientCheck>(clock)

  /** Tells whether no partner has changed since the check, as far as the isolate knows. */
  const isCurrent = ({ change }: ClientCheck) => change === d1.getNewestChange()

  /** Makes a check from D1's answer. @param readAtMs Unix milliseconds at which D1 was asked */
  function createCheck({ partner, partnerChangeId, changeId }: PartnerCheck, readAtMs: number): ClientCheck {
    const newest = d1.getNewestChange()
    // With another ID, this answer is late: a later answer had a newer change, or the database was restored meanwhile.
    const change = changeId === newest.id ? newest : { id: changeId, confirmedAtMs: readAtMs }
    return {
      partner,
      partnerChangeId,
      change,
      readAtMs,
      get checkedAtMs() {
        return change.confirmedAtMs
      },
    }
  }

  /**
   * Keeps an answer of D1 in memory, unless the answer is late. Forgets KV's entry, unless that is a mark and the answer may be older than
   * the marked change.
   */
  function keepInMemory(clientId: string, check: ClientCheck): void {
    if (!isCurrent(check)) return
    const client: KnownClient = clients.get(clientId) ?? { check: undefined, stored: undefined, storedAtMs: 0 }
    const isSame =
      client.check?.partnerChangeId === check.partnerChangeId && isSamePartner(client.check?.partner, check.partner)
    if (!isSame) client.storedAtMs = 0
    client.check = check
    if ((client.stored?.endedAtMs ?? 0) <= computeAsOfMs(check.readAtMs)) client.stored = undefined
    clients.set(clientId, client)
  }

  /** Keeps an answer of D1 in memory, and in KV if the copy is due. */
  function keep(context: CacheContext, clientId: string, check: ClientCheck): void {
    keepInMemory(clientId, check)
    renewPartnerCopy(context, clientId)
  }

  /** Asks D1 for the partner's row. The client's requests share one question, until a newer change becomes known. */
  function readRow(context: CacheContext, clientId: string): Promise<ClientCheck> {
    return shareRow(`${d1.getNewestChange().id} ${clientId}`, context, async () => {
      const answer = await d1.readNearest(context, (from) => from.checkPartner(clientId), hasPartner)
      const check = createCheck(answer, context.nowMs)
      keepInMemory(clientId, check)
      return check
    })
  }

  /**
   * Tells whether the check is new enough to replace KV's entry. A check whose row was read over an hour ago is not: somebody may have
   * changed the row by hand, which gives no new change ID.
   */
  function isEnough(check: ClientCheck, { copy, endedAtMs }: StoredPartner, nowMs: number): boolean {
    const isNewerThanKv = check.readAtMs >= (copy?.checkedAtMs ?? 0) && computeAsOfMs(check.readAtMs) >= endedAtMs
    return isCurrent(check) && isRecentCopy(check.readAtMs, nowMs) && isNewerThanKv
  }

  /** Renews KV's copy after the response, if it is due. A client ID without a partner has no copy. */
  function renewPartnerCopy(context: CacheContext, clientId: string, client = clients.get(clientId)): void {
    if (client?.check?.partner) renewCopy(context, client, () => storeCopy(context, clientId, client))
  }

  /** @returns the time of KV's copy in Unix milliseconds, undefined if it was not written */
  async function storeCopy(context: CacheContext, clientId: string, client: KnownClient): Promise<number | undefined> {
    const { nowMs } = context
    const stored = await readStoredPartner(context, clientId)
    if (stored === null) return undefined
    const { copy } = stored
    if (copy && isRecentCopy(copy.checkedAtMs, nowMs) && isSamePartner(copy.partner, client.check?.partner)) {
      return copy.checkedAtMs
    }
    const isTooOld = client.check !== undefined && !isEnough(client.check, stored, nowMs)
    if (isTooOld && d1.claimProbe()) await readRow(context, clientId)
    const { check } = client
    if (!check?.partner || !isEnough(check, stored, nowMs)) return undefined
    return writePartnerCopy(context, clientId, { partner: check.partner, checkedAtMs: check.readAtMs })
  }

  /** Reads KV's entry, for each client at most once a minute. */
  async function readStored(context: CacheContext, clientId: string): Promise<StoredPartner> {
    const before = clients.get(clientId)?.stored
    if (before && computeAgeMs(before.readAtMs, clock()) < maxAgeMs) return before
    // If KV fails, too, the entry that was read before counts.
    const read = (await readStoredPartner(context, clientId)) ?? before ?? unreadable
    const stored = { ...read, readAtMs: clock() }
    const client = clients.get(clientId)
    if (client) {
      client.stored = stored
      // The copy is due at once when D1 answers again: it must replace a mark soon.
      client.storedAtMs = 0
    }
    // Nothing is kept for other client IDs: random ones would fill the memory.
    else if (stored.copy || stored.endedAtMs > 0) clients.set(clientId, { check: undefined, stored, storedAtMs: 0 })
    return stored
  }

  return {
    /** The latest check and KV's entry, of any age. */
    get: (clientId: string) => clients.get(clientId),

    renewCopy: renewPartnerCopy,

    /**
     * Renews a check that is due. If no partner has changed, one query confirms every check that was made at the newest change. A check
     * that was made at an earlier change may be outdated, so its own row is read.
     */
    renew: async (context: CacheContext, clientId: string): Promise<void> => {
      const check = clients.get(clientId)?.check
      if (check && isCurrent(check)) {
        await shareRenewal(String(check.change.id), context, () => readRow(context, clientId))
      } else await readRow(context, clientId)
      renewPartnerCopy(context, clientId)
    },

    /** Asks D1 for a request that waits for the partner's own row. */
    ask: async (context: CacheContext, clientId: string): Promise<ClientCheck> => {
      const check = await readRow(context, clientId)
      renewPartnerCopy(context, clientId)
      return check
    },

    /**
     * Asks D1 for a sign-in: the primary, because a new secret would fail on a replica that lags behind. Each sign-in asks for itself.
     * @returns `nowSeconds`: D1's clock, in Unix seconds
     */
    askPrimary: async (context: CacheContext, clientId: string) => {
      const answer = await d1.readPrimary(context, (from) => from.checkPartner(clientId))
      const check = createCheck(answer, context.nowMs)
      // A new client is kept only after its secret was verified: anybody can send a client ID.
      if (clients.get(clientId)?.check) keep(context, clientId, check)
      return { check, nowSeconds: answer.nowSeconds }
    },

    keep,

    /**
     * Finds what decides while D1 fails: memory's check or KV's copy, whichever is newer. Neither counts if it is older than the time in
     * KV's mark. A check over two minutes old counts only while KV has an entry: without an entry, no command can end access, and requests
     * of other clients may confirm the check for days. A younger check needs no entry, because a location may not see a new entry for a
     * minute.
     * @returns undefined if neither counts, or if the partner was suspended: the suspension may have ended since, and a partner's program
     * stops at a 401
     */
    readOld: async (context: CacheContext, clientId: string) => {
      const check = clients.get(clientId)?.check
      const { copy, endedAtMs, hasEntry } = await readStored(context, clientId)
      const isUsable = (old: ClientCheck | PartnerCopy | undefined) =>
        old && computeAsOfMs(old.checkedAtMs) >= endedAtMs && isUsableInOutage(old.checkedAtMs, context.nowMs)
      const isYoung = computeAgeMs(check?.checkedAtMs ?? 0, context.nowMs) <= staleWhileRevalidateMs
      const held = (hasEntry || isYoung) && isUsable(check) ? check : undefined
      const stored = isUsable(copy) ? copy : undefined
      const newer = held && held.checkedAtMs >= (stored?.checkedAtMs ?? 0) ? held : stored
      return newer?.partner?.isSuspended ? undefined : newer
    },
  }
}

/** While KV fails, memory alone decides. */
const unreadable: StoredPartner = { hasEntry: true, copy: undefined, endedAtMs: 0 }

function isSamePartner(one: PartnerAccess | undefined, other: PartnerAccess | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** A token proves that its partner existed: a replica without the partner lags behind. */
function hasPartner({ partner }: PartnerCheck): boolean {
  return partner !== undefined
}
