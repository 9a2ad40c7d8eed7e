// The code of partner log and keys log.
import { readDatabaseSeconds, verifyChangeRecord, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import type { VerifiedRecord } from '../core/record-chain.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import type { Output } from './run.ts'

type Subject = 'PARTNER' | 'KEY'

type LogInput = { shortName?: string | undefined; since: string | undefined; verify: boolean }

/** @param list selects entries, the newest first. */
export function createLogHandler(
  subject: Subject,
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>,
): (input: LogInput, run: { store: Store }) => Promise<Output> {
  return async ({ shortName, since, verify }, { store }) => {
    if (verify) {
      return showVerified('The change record of partners and keys', await verifyChangeRecord(store))
    }
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

export function showVerified(record: string, verified: VerifiedRecord): Output {
  const { entryCount, hash } = verified
  const next = hash === null ? '' : ` The next entry will hold the hash ${hash}.`
  return { value: verified, text: `${record} is intact up to entry ${entryCount}.${next}\n` }
}

function toRow(subject: Subject, entry: ChangeEntry): Record<string, string> {
  const { id, changedAt, kind, partner, name, country, kid, actor, note } = entry
  return {
    ENTRY: String(id),
    TIME: formatIsoTime(changedAt),
    [subject]: partner ?? kid ?? '',
    CHANGE: kind === 'rename' ? `rename to ${name}` : kind.replace('keys-', ''),
    ...(subject === 'PARTNER' && { COUNTRY: country ?? '', STATUS: readPartnerStatus(entry) }),
    BY: actor,
    NOTE: note ?? '',
  }
}

function toJson(entry: ChangeEntry) {
  const { id, changedAt, kind, partner, name, country, kid, actor, command, note, previousHash } = entry
  const { clientId, secretFingerprint } = entry
  const status = readPartnerStatus(entry)
  const tokensValidFrom = formatOptionalTime(entry.tokensValidFrom)
  const ofPartner = { partner, name, country, status, clientId, secretFingerprint, tokensValidFrom }
  const subject = kid === null ? ofPartner : { kid }
  return { id, changedAt: formatIsoTime(changedAt), change: kind, ...subject, actor, command, note, previousHash }
}
