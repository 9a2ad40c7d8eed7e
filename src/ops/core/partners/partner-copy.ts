// Marks partners in KV. KV has a copy of each partner, from which the Worker decides access while D1 fails. A change of a partner
// replaces the copy by a mark: it says when access last ended, and while D1 fails, nothing from before that time counts.
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
import { findPartner } from './partner-accounts.ts'

/** Receives a line for the user. */
export type PrintWarning = (warning: string) => void

/** The fields of an entry of the record that say when access ended. */
type AccessEntry = Pick<PartnerEntry, 'kind' | 'changedAt' | 'suspendedAt'>

export interface RecordedPartner {
  partner: Partner
  /** The changes of the partner, the newest first. */
  entries: readonly AccessEntry[]
}

type Entries = Pick<RecordedPartner, 'entries'>

export interface MarkedChange<Made extends Entries> {
  /** The short name or the client ID, as the operator typed it. */
  name: string
  kind: PartnerEntry['kind']
  /**
   * Makes the change in the database.
   * @returns the entries after the change, and what else it made. If the entries are the same, KV's copy is still right.
   */
  change: (found: RecordedPartner) => Promise<Made>
}

/** `refused`: the change was not made. `unanswered`: the database failed, and the change may have been made. */
type Ending<Made> =
  | { kind: 'made'; before: RecordedPartner; made: Made }
  | { kind: 'refused' | 'unanswered'; error: unknown }

/** Access must end soon, even if the database hangs: Cloudflare's API waits for minutes. */
const markAfterMs = 5000

/** The changes that end secrets or tokens at once, beside a suspension, which can be lifted. */
const endingKinds = new Set(['end', 'lockdown', 'end-tokens', 'replace-newest', 'replace-all'])
/** The changes that make a secret. If the command is repeated, it makes another secret, and the first one ends. */
const secretKinds = new Set(['lockdown', 'replace-newest', 'replace-all'])

/** Returns whether a change ends access at once. A move, or a rotation with a grace period, does not. */
function endsAccess(kind: string): boolean {
  return kind === 'suspend' || endingKinds.has(kind)
}

/**
 * Changes a partner, and then marks it in KV, so that the Worker does not use the copy from before. If nothing changed, still marks the
 * partner, unless KV has a newer copy: an earlier run of the command may have stopped before the mark. When the
 * database fails, or does not answer for five seconds, a change that ends access writes the mark without the database.
 * @param warn receives a warning when the mark can't be written: the change is made in any case.
 * @returns the partner before the change, and what `change` returned.
 */
export async function changeAndMark<Made extends Entries>(
  store: Store,
  warn: PrintWarning,
  { name, kind, change }: MarkedChange<Made>,
): Promise<{ before: Partner; made: Made }> {
  let found: RecordedPartner | undefined
  const attempt = async (): Promise<Ending<Made>> => {
    try {
      found = await findRecordedPartner(store, name)
      return { kind: 'made', before: found, made: await change(found) }
    } catch (error) {
      return { kind: isRefusal(error) ? 'refused' : 'unanswered', error }
    }
  }
  const markNow = () => markInOutage(store, name, found?.partner).catch(describeFailedMark)

  const attempted = attempt()
  const isLate = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => isLate.resolve(true), markAfterMs)
  void attempted.then(() => isLate.resolve(false)).finally(() => clearTimeout(timer))
  if (endsAccess(kind) && (await isLate.promise)) warn(`${await markNow()} Waiting for the database …`)
  const ending = await attempted
  switch (ending.kind) {
    case 'made': {
      const { before, made } = ending
      const recorded = { partner: before.partner, entries: made.entries }
      const isCopyWrong = made.entries.length !== before.entries.length
      // The secret is not printed yet. An operator who stops the command here has to run it again.
      if (secretKinds.has(kind)) warn(`${before.partner.shortName} has a new secret. Updating the cache …`)
      // An early mark is not enough: an isolate may have replaced it by a copy from before the change.
      if (isCopyWrong || !(await hasNewestCopy(store, recorded))) await markRecorded(store, warn, recorded, kind)
      return { before: before.partner, made }
    }
    case 'refused':
      if (store.changes.isMarked) await takeMarkBack(store, warn, name)
      throw ending.error
    case 'unanswered': {
      const again = 'When it answers, run the command again.'
      if (endsAccess(kind)) warn(`The database did not answer. ${await markNow()} ${again}`)
      if (kind === 'resume') warn(`The database did not answer. Until it does, ${name} stays suspended. ${again}`)
      throw ending.error
    }
  }
}

/** Returns whether an error says that the database answered and the change was not made. */
function isRefusal(error: unknown): boolean {
  return error instanceof UserError || isCausedBy(error, outdatedSchema) || findFailure(error)?.kind === 'refused'
}

async function findRecordedPartner(store: Store, name: string): Promise<RecordedPartner> {
  const partner = await findPartner(store, name)
  return { partner, entries: await selectPartnerEntries(store.db, { shortName: partner.shortName }) }
}

/**
 * Returns whether KV has a copy from after the newest change. Then a mark would do harm: it takes the place of the copy, and if D1 fails before
 * isolates write a copy again, within an hour, the partner gets nothing.
 */
async function hasNewestCopy({ listKeys }: Store, { partner, entries }: RecordedPartner): Promise<boolean> {
  const key = getPartnerKey(partner.clientId)
  const copy = (await listKeys(key).catch(() => [])).find((entry) => entry.name === key)
  const checkedAtMs = readPath(copy?.metadata, 'checkedAtMs')
  return typeof checkedAtMs === 'number' && checkedAtMs - maxReplicaLagMs >= findEndOfSecond(entries[0]?.changedAt)
}

/**
 * Writes the mark of a change. The mark may have replaced the mark of a later change, by another command. To repair that, reads the record
 * once more, and if it has a newer change, writes the mark of that change.
 */
async function markRecorded(
  store: Store,
  warn: PrintWarning,
  recorded: RecordedPartner,
  kind: PartnerEntry['kind'],
): Promise<void> {
  const { shortName } = recorded.partner
  const partnerCommand = (...words: string[]) => describeCommand(store.target, 'partner', ...words)
  try {
    await writeRecordedMark(store, recorded)
  } catch (error) {
    const again = secretKinds.has(kind)
      ? ` Then run: ${partnerCommand('lockdown', shortName, '--tokens-only')}`
      : ' Run the command again.'
    warn(
      `${describeFailedMark(error)} The change was made, and takes effect within ${freshness}, but while the database fails, the old copy can be used for up to ${staleIfErrorHours} hours.${endsAccess(kind) ? again : ''}`,
    )
    return
  }
  const newest = await findRecordedPartner(store, shortName).catch(() => undefined)
  if (newest === undefined) {
    const show = partnerCommand('show', shortName)
    warn(
      `The change was made, and marked in the cache. Then the database failed: somebody else may have changed ${shortName} at the same time. When the database answers again, check: ${show}`,
    )
  } else if (newest.entries.length !== recorded.entries.length) await markRecorded(store, warn, newest, kind)
}

/** After a refused change, replaces the early mark by one with the time at which access last ended according to the record. */
async function takeMarkBack(store: Store, warn: PrintWarning, name: string): Promise<void> {
  try {
    await writeRecordedMark(store, await findRecordedPartner(store, name))
  } catch {
    warn(`${abbreviate(name)} stays marked in the cache: if the database fails, it gets no token and no list.`)
  }
}

/** Writes a mark with the time at which access last ended according to the record. A suspension that was lifted does not count. */
function writeRecordedMark(store: Store, { partner, entries }: RecordedPartner): Promise<void> {
  const lastEnd = entries.find(({ kind }) => endingKinds.has(kind))
  const endedAt = [entries[0]?.suspendedAt, lastEnd?.changedAt, partner.secretEndedAt]
  return writeMark(store, partner, Math.max(...endedAt.map(findEndOfSecond)))
}

/**
 * @param second a second of D1's clock, in Unix seconds.
 * @returns the end of that second in Unix milliseconds; 0 without a second.
 */
function findEndOfSecond(second: number | null | undefined): number {
  return typeof second === 'number' ? (second + 1) * 1000 : 0
}

/**
 * Writes a mark, even if access never ended: while the database fails, `findInCache` finds only partners with an entry.
 * @param endedAtMs when access ended, in Unix milliseconds; 0 if access never ended.
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
 * Marks a partner while the database fails, as of now.
 * @param partner undefined when the database did not say which partner has the name.
 * @returns a sentence about the mark.
 */
async function markInOutage(store: Store, name: string, partner: Partner | undefined): Promise<string> {
  const marked = partner ? [partner] : await findInCache(store, name)
  const endedAtMs = await store.askServerTimeMs()
  store.changes.isMarked = marked.length > 0
  for (const one of marked) await writeMark(store, one, endedAtMs)
  const effect =
    'while the Worker gets no answer either, the partner gets no token and no list, from about three minutes later.'
  return marked.length > 0
    ? `${name} is marked in the cache: ${effect}`
    : `The cache has no entry named ${abbreviate(name)}. If this is the name of a partner, ${effect}`
}

/** Finds partners by their entries in KV, whose metadata has the short name. @param name the short name or the client ID. */
async function findInCache({ listKeys }: Store, name: string): Promise<Pick<Partner, 'clientId' | 'shortName'>[]> {
  const stored = await listKeys(partnerKeyPrefix)
  return stored.flatMap(({ name: key, metadata }) => {
    const shortName = readPath(metadata, 'shortName')
    const isWanted = shortName === name || key === getPartnerKey(name)
    return isWanted && typeof shortName === 'string'
      ? [{ clientId: key.slice(partnerKeyPrefix.length), shortName }]
      : []
  })
}

function describeFailedMark(error: unknown): string {
  return `The cache could not be marked: ${error instanceof Error ? error.message : String(error)}`
}
