// partner log and keys log: two views of one record.
import type { Command } from 'commander'
import { readDatabaseSeconds, verifyChangeRecord, type ChangeEntry, type EntryFilter } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { readPartnerStatus } from '../core/partner-accounts.ts'
import { parsePast } from '../core/time-arguments.ts'
import { UserError } from '../core/user-error.ts'
import type { Store } from '../store/store.ts'
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

  async function verify(store: Store, { json }: LogOptions): Promise<void> {
    const { entryCount, hash } = await verifyChangeRecord(store)
    const sentence = `The change record of partners and keys is intact up to entry ${entryCount}. The next entry will hold the hash ${hash}.\n`
    io.stdout.write(json ? `${JSON.stringify({ entryCount, hash })}\n` : sentence)
  }

  async function print(store: Store, shortName: string | undefined, { since, json }: LogOptions): Promise<void> {
    const sinceSeconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
    const entries = await list(store, { shortName, since: sinceSeconds })
    io.stdout.write(json ? `${JSON.stringify(entries.map(toJson))}\n` : formatTable(entries.map(toRow)))
    if (!json && entries.length === 0) {
      const whose = shortName ?? `a ${subject.toLowerCase()}`
      const when = sinceSeconds === undefined ? 'yet' : `since ${formatIsoTime(sinceSeconds)}`
      io.stderr.write(`No change of ${whose} is recorded ${when}.\n`)
    }
  }

  function toRow({
    id,
    changedAt,
    kind,
    partner,
    name,
    country,
    suspendedAt,
    closedAt,
    kid,
    actor,
    note,
  }: ChangeEntry) {
    return {
      ENTRY: String(id),
      TIME: formatIsoTime(changedAt),
      [subject]: partner ?? kid ?? '',
      CHANGE: kind === 'rename' ? `rename to ${name}` : kind.replace('keys-', ''),
      ...(subject === 'PARTNER' && {
        COUNTRY: country ?? '',
        STATUS: readPartnerStatus({ suspendedAt, closedAt }),
      }),
      BY: actor,
      NOTE: note ?? '',
    }
  }
}

function toJson({ kid, partner, name, country, suspendedAt, closedAt, changedAt, kind, ...entry }: ChangeEntry) {
  const { id, actor, command, note, previousHash } = entry
  const { clientId, secretFingerprint, tokensValidFrom } = entry
  const status = readPartnerStatus({ suspendedAt, closedAt })
  const added = { clientId, secretFingerprint, tokensValidFrom: formatOptionalTime(tokensValidFrom) }
  const subject = kid === null ? { partner, name, country, status, ...added } : { kid }
  return { id, changedAt: formatIsoTime(changedAt), change: kind, ...subject, actor, command, note, previousHash }
}
