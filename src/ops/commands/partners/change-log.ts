// What partner log and keys log print: two views of one record.
import { listEntries, type EntryFilter, type KeyEntry, type PartnerEntry } from '../../core/record/change-record.ts'
import { formatIsoTime } from '../../core/record/iso-time.ts'
import type { Store } from '../../store/store.ts'
import { entryToJson } from './partner-output.ts'
import type { Output } from '../frame/run.ts'

/** People read as many lines. */
const maxRows = 10

export async function readLog(
  subject: 'partner' | 'kid',
  { shortName, since }: EntryFilter,
  store: Store,
): Promise<Output> {
  const entries = await listEntries(store, subject, { shortName, since })
  const none = entries.length === 0 ? 'No change matches.' : undefined
  const more =
    entries.length > maxRows ? `The last ${maxRows} of ${entries.length} changes. For all: --json` : undefined
  return {
    data: entries.map(entryToJson),
    text: entries.slice(0, maxRows).map((entry) => toRow(entry, shortName)),
    note: none ?? more,
  }
}

function toRow(entry: PartnerEntry | KeyEntry, shortName: string | undefined) {
  const { changedAt, kind, actor, note } = entry
  const time = formatIsoTime(changedAt)
  const by = note === null ? actor : `${actor}: ${note}`
  if ('kid' in entry) return { time, key: entry.kid, change: kind.replace('keys-', ''), by }
  return { time, ...(shortName === undefined && { partner: entry.shortName }), change: describeEntry(entry), by }
}

/** `set country: KE → UG` */
function describeEntry({ kind, name, country, nameBefore, countryBefore }: PartnerEntry): string {
  if (kind === 'create') return `create: ${name}, ${country}`
  const changes = [
    ...(country === countryBefore ? [] : [`country: ${countryBefore} → ${country}`]),
    ...(name === nameBefore ? [] : [`name: ${nameBefore} → ${name}`]),
  ]
  return [kind, changes.join(', ')].join(' ').trim()
}
