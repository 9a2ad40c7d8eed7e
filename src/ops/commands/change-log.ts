// The code of partner log and keys log.
import { readDatabaseSeconds, verifyChangeRecord, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import { parseKept, recordNames, type RecordKey, type VerifiedRecord } from '../core/record-chain.ts'
import { parsePast } from '../core/time-arguments.ts'
import { readText } from '../store/read-input.ts'
import type { Store } from '../store/store.ts'
import { writeOutput } from '../store/write-output.ts'
import type { Output } from './run.ts'

type Subject = 'PARTNER' | 'KEY'

type LogInput = { shortName?: string | undefined; since: string | undefined } & VerifyInput
type VerifyInput = { verify: boolean; keep: string | undefined }

/** @param list selects entries, the newest first. */
export function createLogHandler(
  subject: Subject,
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>,
): (input: LogInput, run: { store: Store }) => Promise<Output> {
  return async ({ shortName, since, verify, keep }, { store }) => {
    if (verify) return showVerified('partners', store, verifyChangeRecord, keep)
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

/** @param keep the file with the hash of an earlier time, which then gets the newest one. */
export async function showVerified(
  record: RecordKey,
  store: Store,
  verify: (store: Store, kept: VerifiedRecord | undefined) => Promise<VerifiedRecord>,
  keep: string | undefined,
): Promise<Output> {
  const fix = 'the file that --keep wrote; to begin, an empty file'
  const kept = keep === undefined ? undefined : parseKept(await readText(keep, fix), record)
  const verified = await verify(store, kept)
  const value = { record, ...verified }
  if (keep !== undefined) await writeOutput(keep, `${JSON.stringify(value)}\n`)
  const { entryCount, hash } = verified
  const next = hash === null ? '' : ` The next entry will hold the hash ${hash}.`
  const compared = kept ? ` The hash that was kept at entry ${kept.entryCount} fits.` : ''
  return {
    value,
    text: `The ${recordNames[record]} is intact up to entry ${entryCount}.${next}${compared}\n`,
    note: keep !== undefined && kept === undefined ? 'No hash was kept before: nothing was compared.' : undefined,
  }
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
