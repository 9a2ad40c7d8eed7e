// partner log and keys log: two views of one record.
import { listEntries, type EntryFilter, type KeyEntry, type PartnerEntry } from '../../core/record/change-record.ts'
import { toTimeColumn } from '../../shared/time-arguments.ts'
import type { Store } from '../../store/store.ts'
import { entryToJson } from './partner-output.ts'
import { printLog, type LogOutput } from '../frame/log-output.ts'
import type { Output } from '../frame/run.ts'

export async function readLog(
  subject: 'partner' | 'kid',
  filter: EntryFilter,
  store: Store,
  file: LogOutput,
): Promise<Output> {
  const entries = await listEntries(store, subject, filter)
  const log = {
    data: entries.map(entryToJson),
    table: entries.map((entry) => toRow(entry, filter.shortName)),
    isFiltered: Object.values(filter).some((value) => value !== undefined),
    none: 'No change matches.',
  }
  return printLog(log, file)
}

function toRow(entry: PartnerEntry | KeyEntry, shortName: string | undefined) {
  const { changedAt, kind, actor, note } = entry
  const time = toTimeColumn(changedAt)
  const by = note === null ? actor : `${actor}: ${note}`
  if ('kid' in entry) return { ...time, key: entry.kid, change: kind.replace('keys-', ''), by }
  return { ...time, ...(shortName === undefined && { partner: entry.shortName }), change: describeEntry(entry), by }
}

/** `set country: KE → UG, contact` */
function describeEntry({ kind, name, country, nameBefore, countryBefore }: PartnerEntry): string {
  if (kind === 'create') return `create: ${name}, ${country}`
  const changes = [
    ...(country === countryBefore ? [] : [`country: ${countryBefore} → ${country}`]),
    ...(name === nameBefore ? [] : [`name: ${nameBefore} → ${name}`]),
    ...(kind === 'set-contact' ? ['contact'] : []),
  ]
  return [kind.replace('-contact', ''), changes.join(', ')].join(' ').trim()
}
