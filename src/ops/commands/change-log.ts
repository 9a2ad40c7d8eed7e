// What partner log and keys log print: two views of one record.
import type { ChangeEntry, EntryFilter } from '../core/change-record.ts'
import { formatIsoTime } from '../core/iso-time.ts'
import type { Store } from '../store/store.ts'
import { entryToJson } from './partner-output.ts'
import type { Output } from './run.ts'

/** People read as many lines. */
const maxRows = 10

/** @param list selects entries, the newest first. */
export async function readLog(
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>,
  filter: EntryFilter,
  store: Store,
): Promise<Output> {
  const entries = await list(store, filter)
  const none = entries.length === 0 ? 'No change is recorded.' : undefined
  const more =
    entries.length > maxRows ? `The last ${maxRows} of ${entries.length} changes. For all: --json` : undefined
  return {
    data: entries.map(entryToJson),
    text: entries.slice(0, maxRows).map((entry) => toRow(entry, filter.shortName)),
    note: none ?? more,
  }
}

function toRow(entry: ChangeEntry, shortName: string | undefined) {
  const { changedAt, kind, kid, partner, name, country, actor, note } = entry
  const subject = kid === null ? { ...(shortName === undefined && { partner }) } : { key: kid }
  const state = kind === 'create' || kind === 'set' ? `: ${name}, ${country}` : ''
  const change = `${kind.replace('keys-', '')}${state}`
  return { time: formatIsoTime(changedAt), ...subject, change, by: note === null ? actor : `${actor}: ${note}` }
}
