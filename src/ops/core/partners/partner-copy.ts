// KV's copy of a partner, and the mark that replaces it. Both decide access only while D1 fails.
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

/** The fields of a record entry that say when access ended. */
type AccessEntry = Pick<PartnerEntry, 'kind' | 'changedAt' | 'suspendedAt'>

/** A partner with its entries of the record, the newest first. */
export interface RecordedPartner {
  partner: Partner
  entries: readonly AccessEntry[]
}

type Recorded = Pick<RecordedPartner, 'entries'>

export interface CopiedChange<Made extends Recorded> {
  /** The short name or the client ID, as it was typed. */
  name: string
  kind: PartnerEntry['kind']
  /** @returns the entries after the change (the same entries if it changed nothing that the copy has), and what else it made. */
  change: (found: RecordedPartner) => Promise<Made>
}

/** How a change ends. `refused`: it had no effect. `unanswered`: the database fails, and the change may have been made. */
type Ending<Made> =
  | { kind: 'made'; before: RecordedPartner; made: Made }
  | { kind: 'refused' | 'unanswered'; error: unknown }

/** Cloudflare's API waits for minutes for a database that hangs. A mark must be written sooner. */
const patienceMs = 5000

/** The kinds of changes, beside a suspension, that end secrets or tokens at once. */
const endingKinds = new Set(['end', 'lockdown', 'end-tokens', 'replace-newest', 'replace-all'])
/** The kinds of changes that make a secret. If the command is repeated, that secret ends. */
const secretKinds = new Set(['lockdown', 'replace-newest', 'replace-all'])

/** A move, or a rotation with a grace period, ends no access at once. */
function endsAccess(kind: string): boolean {
  return kind === 'suspend' || endingKinds.has(kind)
}

/**
 * Changes a partner, and then replaces KV's copy by a mark, so that the copy is not used after the change. When the database fails, or
 * does not answer for five seconds, a change that ends access writes the mark without the database.
 * @returns the partner before the change, and what was made. A mark that can't be written is only a warning.
 */
export async function changeWithCopy<Made extends Recorded>(
  store: Store,
  warn: PrintWarning,
  { name, kind, change }: CopiedChange<Made>,
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
  const timer = setTimeout(() => isLate.resolve(true), patienceMs)
  void attempted.then(() => isLate.resolve(false)).finally(() => clearTimeout(timer))
  if (endsAccess(kind) && (await isLate.promise)) warn(`${await markNow()} Waiting for the database …`)
  const ending = await attempted
  switch (ending.kind) {
    case 'made': {
      const { before, made } = ending
      const recorded = { partner: before.partner, entries: made.entries }
      const isCopyOld = made.entries.length !== before.entries.length
      // The secret is not printed yet. An operator who stops the command here has to run it again.
      if (secretKinds.has(kind)) warn(`${before.partner.shortName} has a new secret. Marking the cache …`)
      // Also after an early mark: an isolate may have replaced that mark by a copy from before the change.
      if (isCopyOld || !(await hasNewestCopy(store, recorded))) {
        await markRecorded(store, warn, recorded, kind)
      }
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

/** Whether the database works, and nothing was changed in it. */
function isRefusal(error: unknown): boolean {
  return error instanceof UserError || isCausedBy(error, outdatedSchema) || findFailure(error)?.kind === 'refused'
}

async function findRecordedPartner(store: Store, name: string): Promise<RecordedPartner> {
  const partner = await findPartner(store, name)
  return { partner, entries: await selectPartnerEntries(store.db, { shortName: partner.shortName }) }
}

/** Whether KV has a copy from after the newest change. If a mark replaced it, isolates would write it again only within an hour. */
async function hasNewestCopy({ listKeys }: Store, { partner, entries }: RecordedPartner): Promise<boolean> {
  const key = getPartnerKey(partner.clientId)
  const copy = (await listKeys(key).catch(() => [])).find((entry) => entry.name === key)
  const checkedAtMs = readPath(copy?.metadata, 'checkedAtMs')
  return typeof checkedAtMs === 'number' && checkedAtMs - maxReplicaLagMs >= toEndMs(entries[0]?.changedAt)
}

/**
 * Writes the mark of a change. If another command changed the partner at the same time, this mark may have replaced the mark of that
 * change: then writes a mark of the newest change.
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
      `The change was made, and marked in the cache. Then the database did not say whether somebody else changed ${shortName} at the same time. Check when it answers: ${show}`,
    )
  } else if (newest.entries.length !== recorded.entries.length) await markRecorded(store, warn, newest, kind)
}

/** After a refused change, replaces its early mark by a mark with the time from the record. */
async function takeMarkBack(store: Store, warn: PrintWarning, name: string): Promise<void> {
  try {
    await writeRecordedMark(store, await findRecordedPartner(store, name))
  } catch {
    warn(`${abbreviate(name)} stays marked in the cache: if the database fails, it gets no token and no list.`)
  }
}

/** Marks when access last ended by the record, also by earlier changes. A suspension that was lifted does not count. */
function writeRecordedMark(store: Store, { partner, entries }: RecordedPartner): Promise<void> {
  const lastEnd = entries.find(({ kind }) => endingKinds.has(kind))
  const endedAt = [entries[0]?.suspendedAt, lastEnd?.changedAt, partner.secretEndedAt]
  return writeMark(store, partner, Math.max(...endedAt.map(toEndMs)))
}

/** @returns the end of a second of D1's clock, which has whole seconds, in Unix milliseconds; 0 for none. */
function toEndMs(second: number | null | undefined): number {
  return typeof second === 'number' ? (second + 1) * 1000 : 0
}

/**
 * Written even if access never ended: without an entry in KV, no later command could end access while the database fails.
 * @param endedAtMs Unix milliseconds; 0 for never.
 */
async function writeMark(
  store: Store,
  { clientId, shortName }: Pick<Partner, 'clientId' | 'shortName'>,
  endedAtMs: number,
): Promise<void> {
  const mark: PartnerMark = { shortName, endedAtMs }
  await store.putKeys([getPartnerKey(clientId)], mark, staleIfErrorHours * 3600)
}

/** @param partner undefined when the database did not say which partner has the name. @returns a sentence about the mark. */
async function markInOutage(store: Store, name: string, partner: Partner | undefined): Promise<string> {
  const marked = partner ? [partner] : await findInCache(store, name)
  const endedAtMs = await store.askServerTimeMs()
  store.changes.isMarked = marked.length > 0
  for (const one of marked) await writeMark(store, one, endedAtMs)
  const effect = 'while the database fails, it gets no token and no list, from about three minutes later.'
  return marked.length > 0
    ? `${name} is marked in the cache: ${effect}`
    : `The cache has no entry named ${abbreviate(name)}. If this is the name of a partner, ${effect}`
}

/** The metadata of an entry has the short name, so the database is not needed. */
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
