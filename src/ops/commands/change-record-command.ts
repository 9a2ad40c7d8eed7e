// partner log and keys log: two views of one record.
import type { Command } from 'commander'
import { readDatabaseSeconds, verifyChangeRecord, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import { parsePast } from '../core/time-arguments.ts'
import { UserError } from '../shared/user-error.ts'
import type { Store } from '../store/store.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatTable } from '../terminal/table.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'

interface LogOptions extends OutputOptions {
  since?: string
  verify?: boolean
}

interface LogView {
  subject: 'PARTNER' | 'KEY'
  list: (store: Store, filter: EntryFilter) => Promise<ChangeEntry[]>
}

/** Adds the flags and the action of a command that may take a short name. */
export function addChangeRecordCommand(
  { io, withStore }: Pick<CommandContext, 'io' | 'withStore'>,
  command: Command,
  { subject, list }: LogView,
): void {
  command
    .option('--since <time>', 'only changes since then: 7d, 2026-10-03, or a time with its zone')
    .option('--verify', 'check instead that nobody has changed an entry of the change record of partners and keys')
    .option('--json', 'print an array, the newest entry first; with --verify an object')
    .action(async () => {
      const [shortName] = command.args
      const options = command.opts<LogOptions>()
      const run = (work: (store: Store) => Promise<void>) =>
        withProgress(io, 'Reading the record', () => withStore(options, work))
      if (options.verify) {
        if (shortName !== undefined || options.since !== undefined) {
          throw new UserError('--verify checks the whole record: leave the short name and --since out.')
        }
        await run((store) => verify(store, options))
      } else await run((store) => print(store, shortName, options))
    })

  async function verify(store: Store, options: LogOptions): Promise<void> {
    const { entryCount, hash } = await verifyChangeRecord(store)
    const sentence = `The change record of partners and keys is intact up to entry ${entryCount}. The next entry will hold the hash ${hash}.\n`
    printResult(io, options, { entryCount, hash }, sentence)
  }

  async function print(store: Store, shortName: string | undefined, options: LogOptions): Promise<void> {
    const { since } = options
    const sinceSeconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
    const entries = await list(store, { shortName, since: sinceSeconds })
    const whose = shortName ?? `a ${subject.toLowerCase()}`
    const when = sinceSeconds === undefined ? 'yet' : `since ${formatIsoTime(sinceSeconds)}`
    const note = entries.length === 0 ? `No change of ${whose} is recorded ${when}.` : undefined
    printResult(io, options, entries.map(toJson), formatTable(entries.map(toRow)), note)
  }

  function toRow(entry: ChangeEntry) {
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
}

function toJson(entry: ChangeEntry) {
  const { id, changedAt, kind, partner, name, country, kid, actor, command, note, previousHash } = entry
  const { clientId, secretFingerprint } = entry
  const tokensValidFrom = formatOptionalTime(entry.tokensValidFrom)
  const ofPartner = {
    partner,
    name,
    country,
    status: readPartnerStatus(entry),
    clientId,
    secretFingerprint,
    tokensValidFrom,
  }
  const subject = kid === null ? ofPartner : { kid }
  return { id, changedAt: formatIsoTime(changedAt), change: kind, ...subject, actor, command, note, previousHash }
}
