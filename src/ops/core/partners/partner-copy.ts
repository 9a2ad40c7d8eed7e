// Marks partners in KV. KV has a copy of each partner, from which the Worker decides access while D1 fails. A change of a partner
// replaces the copy by a mark, which says when access last ended. While D1 fails, the Worker then accepts no copy, secret or token that it
// knows from an earlier time.
import { abbreviate } from '../../../abbreviate.ts'
import { getPartnerKey, maxReplicaLagMs, partnerKeyPrefix, type PartnerMark } from '../../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { selectPartnerEntries, type Partner, type PartnerEntry } from '../../../db/partner-queries.ts'
import { readPath } from '../../../json.ts'
import { findFailure, isCausedBy } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { describeCommand, outdatedSchema } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { requirePartner } from './partner-accounts.ts'

export type PrintWarning = (warning: string) => void

/** The fields of an entry of the record that say when access ended. */
type AccessEntry = Pick<PartnerEntry, 'kind' | 'changedAt' | 'suspendedAt'>

export interface RecordedPartner {
  partner: Partner
  /** The changes of the partner, the newest first. */
  entries: readonly AccessEntry[]
}

type Entries = Pick<RecordedPartner, 'entries'>

export interface MarkedChange<Result extends Entries> {
  /** The short name or the client ID, as the operator typed it. */
  name: string
  kind: PartnerEntry['kind']
  /**
   * Makes the change in the database.
   * @returns the partner's entries, with a new entry if the change makes KV's copy wrong, and whatever else the caller needs.
   */
  change: (recordedPartner: RecordedPartner) => Promise<Result>
}

/** Access must end soon, even if the database hangs: Cloudflare's API waits for minutes. */
const maxWaitMs = 5000

/** The changes that end secrets or tokens at once and for good. A suspension is not among them: it can be lifted. */
const endingKinds = new Set(['end', 'lockdown', 'end-tokens', 'replace-newest', 'replace-all'])
/** The kinds of `endingKinds` that also make a secret. A repeated command makes another secret, and ends the first. */
const secretKinds = new Set(['lockdown', 'replace-newest', 'replace-all'])

/** True if a change ends access at once. A new country, or a rotation with a grace period, does not. */
function endsAccess(kind: string): boolean {
  return kind === 'suspend' || endingKinds.has(kind)
}

/**
 * Changes a partner, and then marks it in KV, so that the Worker does not use the copy from before the change.
 *
 * - If the change ends access, and the database fails or needs over five seconds, the mark is written without the database. A refusal takes this mark back.
 * - If `change` returns no new entry, the mark is written unless KV has a newer copy. An earlier run of the command may have written no mark.
 * - If the mark can't be written, prints a warning, and keeps the change.
 * @returns the partner before the change, and what `change` returned. @throws UserError when there is no such partner; the error of `change`.
 */
export async function makeMarkedChange<Result extends Entries>(
  store: Store,
  warn: PrintWarning,
  { name, kind, change }: MarkedChange<Result>,
): Promise<{ partnerBefore: Partner; result: Result }> {
  // `findAndChange` sets the partner as soon as the database has found it.
  let foundPartner: Partner | undefined
  const findAndChange = async () => {
    const before = await requireRecordedPartner(store, name)
    foundPartner = before.partner
    return { before, result: await change(before) }
  }
  const markInOutage = () => markWithoutDatabase(store, name, foundPartner).catch(describeFailedMark)

  const attempt = findAndChange()
  if (endsAccess(kind) && (await isSlow(attempt))) warn(`${await markInOutage()} Waiting for the database …`)
  const { before, result } = await attempt.catch(async (error: unknown) => {
    const retryAdvice = 'When the database answers, run the command again.'
    if (isRefusal(error)) {
      if (store.changes.isMarked) await takeMarkBack(store, warn, name)
    } else if (endsAccess(kind)) {
      warn(`The database did not answer. ${await markInOutage()} ${retryAdvice}`)
    } else if (kind === 'resume') {
      warn(`The database did not answer. ${name} may stay suspended until it does. ${retryAdvice}`)
    }
    throw error
  })

  // The secret is printed only after the mark. An operator who stops the command here has to run it again.
  if (secretKinds.has(kind)) warn(`${before.partner.shortName} has a new secret. Updating the cache …`)
  const afterChange = { partner: before.partner, entries: result.entries }
  const isCopyWrong = result.entries.length !== before.entries.length
  // An early mark is not enough: an isolate may have replaced it by a copy from before the change.
  if (isCopyWrong || !(await hasNewestCopy(store, afterChange))) await markAfterChange(store, warn, afterChange, kind)
  return { partnerBefore: before.partner, result }
}

/** True if a change is still under way after `maxWaitMs`; false as soon as it succeeds or fails. */
async function isSlow(attempt: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(true), maxWaitMs)
  const endOfAttempt = Promise.allSettled([attempt]).then(() => false)
  return Promise.race([endOfAttempt, timeout]).finally(() => clearTimeout(timer))
}

/** True if an error means that the change was not made. After any other error, the database may have made it. */
function isRefusal(error: unknown): boolean {
  return error instanceof UserError || isCausedBy(error, outdatedSchema) || findFailure(error)?.kind === 'refused'
}

/** Reads a partner, with the record of its changes. @throws UserError when there is no such partner. */
async function requireRecordedPartner(store: Store, name: string): Promise<RecordedPartner> {
  const partner = await requirePartner(store, name)
  return { partner, entries: await selectPartnerEntries(store.db, { shortName: partner.shortName }) }
}

/**
 * True if KV's copy is newer than the partner's newest change. Such a copy must not be replaced by a mark. If D1 failed before the Worker
 * wrote the next copy, the partner would get no token and no list. False if KV does not answer.
 */
async function hasNewestCopy({ listKeys }: Store, { partner, entries }: RecordedPartner): Promise<boolean> {
  const key = getPartnerKey(partner.clientId)
  const copy = (await listKeys(key).catch(() => [])).find((entry) => entry.name === key)
  // The Worker got the copy from D1 at this time, maybe from a replica that lagged behind.
  const checkedAtMs = readPath(copy?.metadata, 'checkedAtMs')
  return typeof checkedAtMs === 'number' && checkedAtMs - maxReplicaLagMs >= toEndOfSecondMs(entries[0]?.changedAt)
}

/**
 * Writes the mark of a partner, and reads the record again: another command may have changed and marked the partner meanwhile, and this mark
 * may have replaced the newer mark. If the record has a newer change, writes the mark again. Prints a warning if KV or the database fails.
 * @param afterChange the partner, with the entries from which the mark is computed.
 * @param kind the kind of the change that the operator made.
 */
async function markAfterChange(
  store: Store,
  warn: PrintWarning,
  afterChange: RecordedPartner,
  kind: PartnerEntry['kind'],
): Promise<void> {
  const { shortName } = afterChange.partner
  const partnerCommand = (...words: string[]) => describeCommand(store.target, 'partner', ...words)
  try {
    await writeRecordedMark(store, afterChange)
  } catch (error) {
    const repeatAdvice = secretKinds.has(kind)
      ? ` To mark the cache, which also ends all tokens, run: ${partnerCommand('lockdown', shortName, '--tokens-only')}`
      : ' Run the command again.'
    warn(
      `${describeFailedMark(error)} The change was made, and takes effect within ${freshness}, but while the database fails, the old copy can be used for up to ${staleIfErrorHours} hours.${endsAccess(kind) ? repeatAdvice : ''}`,
    )
    return
  }
  const newState = await requireRecordedPartner(store, shortName).catch(() => undefined)
  if (newState === undefined) {
    const logCommand = describeCommand(store.target, 'log', '--partner', shortName)
    const markCommand = partnerCommand('lockdown', shortName, '--tokens-only')
    warn(
      `The change was made, and marked in the cache. Then the database failed: a newer mark by somebody else may be lost. When the database answers again, see: ${logCommand}. If a newer change ended access, mark the cache again, which also ends all tokens: ${markCommand}`,
    )
  } else if (newState.entries.length !== afterChange.entries.length) await markAfterChange(store, warn, newState, kind)
}

/** After a refused change, replaces the mark that was written without the database by the mark that the record gives. Never rejects: a failure becomes a warning. */
async function takeMarkBack(store: Store, warn: PrintWarning, name: string): Promise<void> {
  try {
    await writeRecordedMark(store, await requireRecordedPartner(store, name))
  } catch {
    warn(
      `${abbreviate(name)} stays marked in the cache: for up to an hour if the partner sends requests, otherwise for up to ${staleIfErrorHours} hours. If the database fails meanwhile, the partner gets no token and no list.`,
    )
  }
}

/** Writes the mark with the time at which access last ended according to the record, 0 if it never ended. A suspension that was lifted does not count. */
function writeRecordedMark(store: Store, { partner, entries }: RecordedPartner): Promise<void> {
  const lastEnd = entries.find(({ kind }) => endingKinds.has(kind))
  const endTimes = [entries[0]?.suspendedAt, lastEnd?.changedAt, partner.secretEndedAt]
  return writeMark(store, partner, Math.max(...endTimes.map(toEndOfSecondMs)))
}

/** @returns the Unix millisecond at which a Unix second of D1's clock ends; 0 without a second. */
function toEndOfSecondMs(second: number | null | undefined): number {
  return typeof second === 'number' ? (second + 1) * 1000 : 0
}

/**
 * Writes the mark of a partner. A partner whose access never ended gets a mark, too: while the database fails, `findInCache` finds only
 * partners that have an entry in KV.
 * @param endedAtMs as in `PartnerMark`.
 */
async function writeMark(
  store: Store,
  { clientId, shortName }: Pick<Partner, 'clientId' | 'shortName'>,
  endedAtMs: number,
): Promise<void> {
  const mark: PartnerMark = { shortName, endedAtMs }
  await store.putKeys([getPartnerKey(clientId)], mark, staleIfErrorHours * 3600)
}

/**
 * Marks a partner without the database: the mark says that access ends now. Sets `store.changes.isMarked` before it writes, because a
 * write that fails may have an effect. @throws the error of KV.
 * @param name the short name or the client ID, as the operator typed it.
 * @param partner the partner with this name, if the database has found it; otherwise KV is searched.
 * @returns a sentence that tells the operator about the mark.
 */
async function markWithoutDatabase(store: Store, name: string, partner: Partner | undefined): Promise<string> {
  const partners = partner ? [partner] : await findInCache(store, name)
  const endedAtMs = await store.askServerTimeMs()
  store.changes.isMarked = partners.length > 0
  for (const partnerToMark of partners) await writeMark(store, partnerToMark, endedAtMs)
  const effect = 'the partner loses access within three minutes, except where the database answers the Worker.'
  return partners.length > 0
    ? `${name} is marked in the cache: ${effect}`
    : `The cache has no entry named ${abbreviate(name)}. If this is the name of a partner, ${effect}`
}

/** Finds partners by their entries in KV. @param name a client ID, which the key of an entry has, or a short name, which its metadata has. */
async function findInCache({ listKeys }: Store, name: string): Promise<Pick<Partner, 'clientId' | 'shortName'>[]> {
  const partners = []
  for (const { name: key, metadata } of await listKeys(partnerKeyPrefix)) {
    const clientId = key.slice(partnerKeyPrefix.length)
    const shortName = readPath(metadata, 'shortName')
    if (typeof shortName === 'string' && [shortName, clientId].includes(name)) partners.push({ clientId, shortName })
  }
  return partners
}

function describeFailedMark(error: unknown): string {
  return `The cache could not be marked: ${error instanceof Error ? error.message : String(error)}`
}
