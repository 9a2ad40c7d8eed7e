// Remembers clients in an isolate: the check, which is D1's latest answer, and KV's copy, which counts only while D1 fails.
import type { PartnerAccess, PartnerCheck } from '../../db/client-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { CacheContext } from './cache-context.ts'
import { isRecentCopy, renewCopy, type CopiedItem } from './copy-renewal.ts'
import type { NewestChange, D1State } from './d1-state.ts'
import { computeAgeMs, computeAsOfMs, isUsableInOutage, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import { readPartnerEntry, writePartnerCopy, type PartnerCopy, type PartnerEntry } from './kv-copies.ts'
import { createSharedWork } from './shared-work.ts'

/** D1's answer about a client. */
export interface ClientCheck {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** The ID of this partner's newest change. Null without a partner. */
  partnerChangeId: number | null
  /** The newest change of any partner when the row was read. Every answer of D1 with the same change confirms the check. */
  change: NewestChange
  /** Unix milliseconds at which D1 was asked for the partner's row. */
  readAtMs: number
  /** Unix milliseconds at which D1 last confirmed the check. */
  readonly checkedAtMs: number
}

export interface KnownClient extends CopiedItem {
  check: ClientCheck | undefined
  /** KV's entry for the partner, last read while D1 failed. An entry has no change ID, so D1 can't confirm it like a check. */
  entry: (PartnerEntry & { readAtMs: number }) | undefined
}

/** @param clock the time in Unix milliseconds */
export function createPartnerChecks(maxPartners: number, d1: D1State, clock: () => number) {
  const clients = createBoundedMap<KnownClient>(maxPartners)
  const shareRow = createSharedWork<ClientCheck>(clock)
  const shareRenewal = createSharedWork<ClientCheck>(clock)

  /** True if no partner has changed since the check, as far as the isolate knows. */
  const isCurrent = ({ change }: ClientCheck) => change === d1.getNewestChange()

  /** Creates a check from D1's answer. While no newer change is known, later answers confirm the check, and set `checkedAtMs`. A late answer is never confirmed. */
  function createCheck({ partner, partnerChangeId, changeId }: PartnerCheck, readAtMs: number): ClientCheck {
    const newestChange = d1.getNewestChange()
    // An answer with another ID is late: another answer had a newer change, or the database was restored meanwhile.
    const change = changeId === newestChange.id ? newestChange : { id: changeId, confirmedAtMs: readAtMs }
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
   * Keeps a current check in memory, and renews KV's copy if the copy is due. Ignores a check that is not current. Forgets KV's entry, because
   * D1 answers again. But a mark stays if the check may come from a replica that lacks the change of the mark.
   */
  function keepCheckInMemory(context: CacheContext, clientId: string, check: ClientCheck): void {
    if (!isCurrent(check)) return
    const client: KnownClient = clients.get(clientId) ?? { check: undefined, entry: undefined, storedAtMs: 0 }
    // A command that changed the partner may have put a mark into KV. Time 0 makes the copy due: the copy replaces the mark.
    const isUnchanged =
      client.check?.partnerChangeId === check.partnerChangeId && isSamePartner(client.check?.partner, check.partner)
    if (!isUnchanged) client.storedAtMs = 0
    client.check = check
    if ((client.entry?.endedAtMs ?? 0) <= computeAsOfMs(check.readAtMs)) client.entry = undefined
    clients.set(clientId, client)
    renewPartnerCopy(context, clientId, client)
  }

  /** Asks D1's nearest replica for the partner's row, and keeps the answer. A client's requests share a query, until a newer change is known. @throws StorageError when D1 fails */
  function askNearest(context: CacheContext, clientId: string): Promise<ClientCheck> {
    return shareRow(`${d1.getNewestChange().id} ${clientId}`, context, async () => {
      // A replica that has no partner with this client ID lags: the token of the request proves that the partner exists.
      const answer = await d1.readNearest(
        context,
        (session) => session.checkPartner(clientId),
        ({ partner }) => partner !== undefined,
      )
      const check = createCheck(answer, context.nowMs)
      keepCheckInMemory(context, clientId, check)
      return check
    })
  }

  /**
   * Tells if a check may replace KV's entry. The check must be current, and newer than the entry. The read of its row must be less than an
   * hour ago, because a change of the row by hand makes no new change ID.
   */
  function mayReplace(check: ClientCheck, { copy, endedAtMs }: PartnerEntry, nowMs: number): boolean {
    const isNewerThanKv = check.readAtMs >= (copy?.checkedAtMs ?? 0) && computeAsOfMs(check.readAtMs) >= endedAtMs
    return isCurrent(check) && isRecentCopy(check.readAtMs, nowMs) && isNewerThanKv
  }

  /** Renews KV's copy of a partner after the response, if the copy is due. A client ID without a partner has no copy. */
  function renewPartnerCopy(context: CacheContext, clientId: string, client = clients.get(clientId)): void {
    if (client?.check?.partner) renewCopy(context, client, () => storeCopy(context, clientId, client))
  }

  /**
   * Writes a partner's copy to KV, unless KV has a recent copy of the same data. If the check may not replace KV's entry, first asks D1 for a
   * new check, except in a pause after a failure of D1.
   * @returns the time of KV's copy in Unix milliseconds, undefined if KV fails or gets no copy. @throws StorageError when D1 is asked and fails
   */
  async function storeCopy(context: CacheContext, clientId: string, client: KnownClient): Promise<number | undefined> {
    const { nowMs } = context
    const entry = await readPartnerEntry(context, clientId)
    if (entry === null) return undefined
    const { copy } = entry
    if (copy && isRecentCopy(copy.checkedAtMs, nowMs) && isSamePartner(copy.partner, client.check?.partner)) {
      return copy.checkedAtMs
    }
    const needsNewCheck = client.check !== undefined && !mayReplace(client.check, entry, nowMs)
    // Puts the new check into `client`.
    if (needsNewCheck && d1.mayAsk()) await askNearest(context, clientId)
    const { check } = client
    if (!check?.partner || !mayReplace(check, entry, nowMs)) return undefined
    return writePartnerCopy(context, clientId, { partner: check.partner, checkedAtMs: check.readAtMs })
  }

  /** Returns KV's entry for a partner, read in the last minute. Keeps a new entry in memory, and makes KV's copy due. While KV fails, returns the last entry, or else `entryWhileKvFails`. */
  async function refreshEntry(context: CacheContext, clientId: string): Promise<PartnerEntry> {
    const heldEntry = clients.get(clientId)?.entry
    if (heldEntry && computeAgeMs(heldEntry.readAtMs, clock()) < maxAgeMs) return heldEntry
    const latestEntry = (await readPartnerEntry(context, clientId)) ?? heldEntry ?? entryWhileKvFails
    const entry = { ...latestEntry, readAtMs: clock() }
    const client = clients.get(clientId)
    if (client) {
      client.entry = entry
      // The copy is due as soon as D1 answers: if the entry is a mark, the copy must replace it.
      client.storedAtMs = 0
    }
    // Keeps nothing for a client ID without an entry in KV: random IDs would fill the memory.
    else if (entry.copy || entry.endedAtMs > 0) clients.set(clientId, { check: undefined, entry, storedAtMs: 0 })
    return entry
  }

  return {
    /** Returns the client in memory, with a check and an entry of any age. Undefined if memory has none. */
    get: (clientId: string) => clients.get(clientId),

    renewPartnerCopy,

    /**
     * Renews a check that is due. Checks that were made at the newest change share one query, which confirms all of them if no partner has
     * changed. A check that was made at an earlier change may be outdated, so the row of its own partner is read.
     */
    renewCheck: async (context: CacheContext, clientId: string): Promise<void> => {
      const check = clients.get(clientId)?.check
      if (check && isCurrent(check)) {
        await shareRenewal(String(check.change.id), context, () => askNearest(context, clientId))
      } else await askNearest(context, clientId)
      renewPartnerCopy(context, clientId)
    },

    askNearest,

    /** Asks the primary, because a replica that lags may lack a new secret. Sign-ins share no query. @returns also D1's time in Unix seconds */
    askPrimary: async (context: CacheContext, clientId: string) => {
      const answer = await d1.readPrimary(context, (session) => session.checkPartner(clientId))
      const check = createCheck(answer, context.nowMs)
      // A new client is kept only after its secret was verified: anybody can send a client ID.
      if (clients.get(clientId)?.check) keepCheckInMemory(context, clientId, check)
      return { check, nowSeconds: answer.nowSeconds }
    },

    keepCheckInMemory,

    /**
     * Finds the data about a client that counts while D1 fails: the check in memory or the copy in KV, whichever is newer. Data from before
     * the time in KV's mark don't count.
     * @returns undefined if neither counts. Also undefined if the partner was suspended: the suspension may have ended since, and a
     * partner's program stops at a 401
     */
    findForOutage: async (context: CacheContext, clientId: string): Promise<ClientCheck | PartnerCopy | undefined> => {
      const { nowMs } = context
      const check = clients.get(clientId)?.check
      const { copy, endedAtMs, hasEntry } = await refreshEntry(context, clientId)
      // While D1 fails, a command can end access only if KV has an entry. So without an entry, no check counts, except a young check: a new
      // entry may take a minute to arrive here.
      const isYoung = check !== undefined && computeAgeMs(check.checkedAtMs, nowMs) <= staleWhileRevalidateMs
      const candidates = [hasEntry || isYoung ? check : undefined, copy]
      let newestData: ClientCheck | PartnerCopy | undefined
      for (const candidate of candidates) {
        if (!candidate || !isUsableInOutage(candidate.checkedAtMs, nowMs)) continue
        const isFromBeforeMark = computeAsOfMs(candidate.checkedAtMs) < endedAtMs
        if (!isFromBeforeMark && candidate.checkedAtMs > (newestData?.checkedAtMs ?? 0)) newestData = candidate
      }
      return newestData?.partner?.isSuspended ? undefined : newestData
    },
  }
}

/** Takes the place of an entry that was never read, while KV fails: the check in memory decides alone. */
const entryWhileKvFails: PartnerEntry = { hasEntry: true, copy: undefined, endedAtMs: 0 }

/** Compares as JSON, because partners from D1 and from KV have their members in one order: that of `selectPartnerCheck`. */
function isSamePartner(one: PartnerAccess | undefined, other: PartnerAccess | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
