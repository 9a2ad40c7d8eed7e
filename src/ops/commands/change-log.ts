// What partner log and keys log print: two views of one record.
import { readDatabaseSeconds, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import type { Output } from './run.ts'

/** @param list selects entries, the newest first. */
export async function readLog(
  subject: 'partner' | 'key',
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>,
  { shortName, since }: { shortName?: string | undefined; since: string | undefined },
  store: Store,
): Promise<Output> {
  const sinceSeconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
  const entries = await list(store, { shortName, since: sinceSeconds })
  const when = sinceSeconds === undefined ? 'yet' : `since ${formatIsoTime(sinceSeconds)}`
  return {
    data: entries.map(toJson),
    text: subject === 'key' ? entries.map(toKeyRow) : entries.map(toPartnerRow),
    note: entries.length === 0 ? `No change of ${shortName ?? `a ${subject}`} is recorded ${when}.` : undefined,
  }
}

function toPartnerRow(entry: ChangeEntry) {
  const { id, changedAt, kind: change, partner, name, country, actor: by, note } = entry
  const time = formatIsoTime(changedAt)
  return { entry: id, time, partner, change, name, country, status: readPartnerStatus(entry), by, note }
}

function toKeyRow({ id, changedAt, kind, kid, actor, note }: ChangeEntry) {
  return { entry: id, time: formatIsoTime(changedAt), key: kid, change: kind.replace('keys-', ''), by: actor, note }
}

function toJson(entry: ChangeEntry) {
  const { id, changedAt, kind, partner, name, country, clientId, kid, actor, command, note } = entry
  const tokensValidFrom = formatOptionalTime(entry.tokensValidFrom)
  const ofPartner = { partner, name, country, status: readPartnerStatus(entry), clientId, tokensValidFrom }
  const subject = kid === null ? ofPartner : { kid }
  return { id, changedAt: formatIsoTime(changedAt), change: kind, ...subject, actor, command, note }
}
