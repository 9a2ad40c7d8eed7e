// KV's copy of a partner, or the mark in its place. It decides access only while D1 fails. The Worker also reads it after a
// response, to save a write.
import { getPartnerKey, maxReplicaLagMs, partnerKeyPrefix, type PartnerMark } from '../../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import type { Partner, PartnerEntry } from '../../../db/partner-queries.ts'
import { readPath } from '../../../json.ts'
import { isCausedBy } from '../../store/failure.ts'
import type { CachedKey, Store } from '../../store/store.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { outdatedSchema } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'

/** Receives a line for the user about a change that was not made completely. */
export type PrintWarning = (warning: string) => void

/** The fields of a record entry that say when access ended. */
type AccessEntry = Pick<PartnerEntry, 'kind' | 'changedAt' | 'suspendedAt'>

/** A partner with its entries of the record, the newest first. */
export interface RecordedPartner {
  partner: Partner
  entries: readonly AccessEntry[]
}

/**
 * The effect of a change on KV while the database fails. `end`, `suspend`: marks the partner. `resume`: lifts the suspension from
 * the mark. `nothing`: the copy stays.
 */
export type OutageEffect = 'end' | 'suspend' | 'resume' | 'nothing'

export interface CopiedChange<Made extends Pick<RecordedPartner, 'entries'>> {
  /** The short name or the client ID, as it was typed. */
  name: string
  effect: OutageEffect
  find: () => Promise<RecordedPartner>
  /** @returns the entries after the change, the same ones when there was nothing to change, and what else it made. */
  change: (found: RecordedPartner) => Promise<Made>
}

/** A change must reach KV soon, although Cloudflare's API waits for minutes for a database that hangs. */
const patienceMs = 5000

/** The kinds of changes, beside a suspension, after which something stops working that worked before. */
const endingKinds = new Set(['close', 'lockdown', 'end-tokens', 'replace-newest', 'replace-all'])

/**
 * Makes a change of a partner, and then ends or deletes KV's copy of it, so that the copy does not outlive the change. When the
 * database fails, or does not answer for some seconds, the copy is ended without it.
 * @returns the partner before the change, and what was made, while `copied` updates the copy: a copy that can't be reached is only
 * a warning.
 */
export async function changeWithCopy<Made extends Pick<RecordedPartner, 'entries'>>(
  store: Store,
  warn: PrintWarning,
  { name, effect, find, change }: CopiedChange<Made>,
): Promise<{ before: Partner; made: Made; copied: Promise<void> }> {
  let found: RecordedPartner | undefined
  const findAndChange = async () => {
    found = await find()
    const made = await change(found)
    return { before: found.partner, made, isChanged: made.entries.length !== found.entries.length }
  }
  const updateWithoutDatabase = () => updateInOutage(store, name, effect, found).catch(describeCopyFailure)

  const changing = findAndChange()
  if (effect !== 'nothing' && !(await isSettledWithin(changing, patienceMs))) {
    warn(`${await updateWithoutDatabase()} Waiting for the database …`)
  }
  try {
    const { before, made, isChanged } = await changing
    const recorded = { partner: before, entries: made.entries }
    if (!isChanged && (await hasNewestCopy(store, recorded))) return { before, made, copied: Promise.resolve() }
    // Also after an early mark: an isolate may have replaced it by a copy from before the change.
    return { before, made, copied: updateCopy(store, warn, recorded, find) }
  } catch (error) {
    // Otherwise the database works, and nothing was changed in it.
    const isRefused = error instanceof UserError || isCausedBy(error, outdatedSchema)
    if (effect !== 'nothing' && !isRefused) {
      const sentence = await updateWithoutDatabase()
      warn(`The database did not answer. ${sentence} When the database answers, run the command again.`)
    }
    throw error
  }
}

function isSettledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    const settle = () => {
      clearTimeout(timer)
      resolve(true)
    }
    work.then(settle, settle)
  })
}

/** Whether KV has a copy from after the newest change: isolates would not write it again for up to an hour. */
async function hasNewestCopy(store: Store, { partner, entries }: RecordedPartner): Promise<boolean> {
  const [copy] = await findCopies(store, partner.shortName, partner).catch(() => [])
  const checkedAtMs = readPath(copy?.metadata, 'checkedAtMs')
  return typeof checkedAtMs === 'number' && checkedAtMs - maxReplicaLagMs >= toEndMs(entries[0]?.changedAt)
}

/**
 * A mark keeps access ended that an earlier change ended, too: what is in memory of isolates may be from before that. Another
 * command may have made a change meanwhile, whose mark this one replaced: then it writes the mark again.
 * @param find finds the partner as it is now.
 */
async function updateCopy(
  store: Store,
  warn: PrintWarning,
  { partner, entries }: RecordedPartner,
  find: () => Promise<RecordedPartner>,
): Promise<void> {
  try {
    await writeMark(store, getPartnerKey(partner.clientId), partner.shortName, findAccessEnds(partner, entries))
    const { entries: newest } = await find()
    if (newest.length !== entries.length) await updateCopy(store, warn, { partner, entries: newest }, find)
  } catch (error) {
    const advice = `While the database fails, the old copy can be used for up to ${staleIfErrorHours} hours: run the command again.`
    warn(`${describeCopyFailure(error)} The change was made, and takes effect within ${freshness}. ${advice}`)
  }
}

type AccessEnds = Pick<PartnerMark, 'endedAtMs' | 'withoutSuspensionMs'>

/** Says when access to a partner last ended. A suspension that was lifted does not count. */
export function findAccessEnds({ secretEndedAt }: Partner, entries: readonly AccessEntry[]): AccessEnds {
  const lastEnd = entries.find(({ kind }) => endingKinds.has(kind))
  const withoutSuspensionMs = Math.max(toEndMs(lastEnd?.changedAt), toEndMs(secretEndedAt))
  return { endedAtMs: Math.max(toEndMs(entries[0]?.suspendedAt), withoutSuspensionMs), withoutSuspensionMs }
}

/** @returns the end of a second of D1's clock, which has no fractions, in Unix milliseconds; 0 for none. */
function toEndMs(second: number | null | undefined): number {
  return typeof second === 'number' ? (second + 1) * 1000 : 0
}

/** Deletes what is under the key when access never ended. A mark from long ago does not differ from none. */
async function writeMark(store: Store, key: string, shortName: string, ends: AccessEnds): Promise<void> {
  if (ends.endedAtMs === 0) await store.deleteKey(key)
  else await store.putKeys([key], { shortName, ...ends } satisfies PartnerMark, staleIfErrorHours * 3600)
}

/** @param found undefined when the database did not answer which partner has the name. @returns a sentence about the marks. */
async function updateInOutage(
  store: Store,
  name: string,
  effect: OutageEffect,
  found: RecordedPartner | undefined,
): Promise<string> {
  const copies = await findCopies(store, name, found?.partner)
  if (copies.length === 0) {
    return `${name} has no cached copy: isolates that know it treat it as before for up to ${staleIfErrorHours} hours.`
  }
  const recordedEnd = found ? findAccessEnds(found.partner, found.entries).withoutSuspensionMs : 0
  if (effect === 'resume') return liftSuspensions(store, name, copies, recordedEnd)
  const endedAtMs = await store.askServerTimeMs()
  for (const { key, shortName, metadata } of copies) {
    const earlierEnd = Math.max(recordedEnd, readEarlierEnd(metadata))
    await writeMark(store, key, shortName, {
      endedAtMs,
      withoutSuspensionMs: effect === 'suspend' ? earlierEnd : endedAtMs,
    })
  }
  return `${name} is marked in the cache: while the database fails, it gets no token and no list after about three minutes.`
}

/** The value under a partner's key in KV. */
interface StoredCopy extends Pick<CachedKey, 'metadata'> {
  key: string
  shortName: string
}

/** While the database fails, the metadata of a copy names its partner. */
async function findCopies(store: Store, name: string, partner: Partner | undefined): Promise<StoredCopy[]> {
  if (partner !== undefined) {
    const key = getPartnerKey(partner.clientId)
    const stored = (await store.listKeys(key)).find((entry) => entry.name === key)
    // A list may miss a new entry.
    return [{ key, shortName: partner.shortName, metadata: stored?.metadata }]
  }
  const stored = await store.listKeys(partnerKeyPrefix)
  return stored.flatMap(({ name: key, metadata }) => {
    const shortName = readPath(metadata, 'shortName')
    const isWanted = shortName === name || key === getPartnerKey(name)
    return isWanted && typeof shortName === 'string' ? [{ key, shortName, metadata }] : []
  })
}

/** @returns when access ended before a suspension, as far as the entry in KV says it: what is older is not used again. */
function readEarlierEnd(metadata: unknown): number {
  const withoutSuspensionMs = readPath(metadata, 'withoutSuspensionMs')
  if (typeof withoutSuspensionMs === 'number') return withoutSuspensionMs
  // A copy takes the place of a mark only when it is newer, so it is newer than the last end.
  const checkedAtMs = readPath(metadata, 'checkedAtMs')
  return typeof checkedAtMs === 'number' ? checkedAtMs - maxReplicaLagMs : 0
}

/** @param recordedEnd when access ended otherwise, as far as the database said it. */
async function liftSuspensions(
  store: Store,
  name: string,
  copies: readonly StoredCopy[],
  recordedEnd: number,
): Promise<string> {
  let isLifted = false
  for (const { key, shortName, metadata } of copies) {
    const endedAtMs = readPath(metadata, 'endedAtMs')
    const leftMs = Math.max(recordedEnd, readEarlierEnd(metadata))
    if (typeof endedAtMs === 'number' && leftMs < endedAtMs) {
      await writeMark(store, key, shortName, { endedAtMs: leftMs, withoutSuspensionMs: leftMs })
      isLifted = true
    }
  }
  return isLifted
    ? `The suspension of ${name} was lifted from the cache.`
    : `The cache has no mark of ${name} that only a suspension made, so nothing was lifted.`
}

function describeCopyFailure(error: unknown): string {
  return `The cached copy could not be updated: ${error instanceof Error ? error.message : String(error)}`
}
