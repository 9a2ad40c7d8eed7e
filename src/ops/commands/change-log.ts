// The code of partner log and keys log.
import { readDatabaseSeconds, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import type { Output } from './run.ts'

type Subject = 'PARTNER' | 'KEY'

/** @param list selects entries, the newest first. */
export function createLogHandler(
  subject: Subject,
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>,
): (input: { shortName?: string | undefined; since: string | undefined }, run: { store: Store }) => Promise<Output> {
  return async ({ shortName, since }, { store }) => {
    const sinceSeconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
    const entries = await list(store, { shortName, since: sinceSeconds })
    const whose = shortName ?? `a ${subject.toLowerCase()}`
    const when = sinceSeconds === undefined ? 'yet' : `since ${formatIsoTime(sinceSeconds)}`
    return {
      value: entries.map(toJson),
      text: entries.map((entry) => toRow(subject, entry)),
      note: entries.length === 0 ? `No change of ${whose} is recorded ${when}.` : undefined,
    }
  }
}

function toRow(subject: Subject, entry: ChangeEntry): Record<string, string> {
  const { id, changedAt, kind, partner, name, country, kid, actor, note } = entry
  const after = { NAME: name ?? '', COUNTRY: country ?? '', STATUS: readPartnerStatus(entry) }
  return {
    ENTRY: String(id),
    TIME: formatIsoTime(changedAt),
    [subject]: partner ?? kid ?? '',
    CHANGE: kind.replace('keys-', ''),
    ...(subject === 'PARTNER' && after),
    BY: actor,
    NOTE: note ?? '',
  }
}

function toJson(entry: ChangeEntry) {
  const { id, changedAt, kind, partner, name, country, clientId, kid, actor, command, note } = entry
  const tokensValidFrom = formatOptionalTime(entry.tokensValidFrom)
  const ofPartner = { partner, name, country, status: readPartnerStatus(entry), clientId, tokensValidFrom }
  const subject = kid === null ? ofPartner : { kid }
  return { id, changedAt: formatIsoTime(changedAt), change: kind, ...subject, actor, command, note }
}
