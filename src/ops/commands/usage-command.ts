// partner usage
import type { Command } from 'commander'
import { readDatabaseSeconds } from '../core/change-record.ts'
import { formatIsoTime } from '../core/iso-time.ts'
import { readPartnerUsage, type PartnerUsage } from '../core/partner-usage.ts'
import { parsePast } from '../core/time-arguments.ts'
import { printResult } from '../terminal/print-result.ts'
import { formatPairs } from '../terminal/table.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'

/** https://developers.cloudflare.com/analytics/analytics-engine/limits/ */
const retentionSeconds = 92 * 86_400

export function addUsageCommand(partner: Command, { io, withStore, openUsage }: CommandContext): void {
  addCommand(
    partner,
    'usage <short-name>',
    'show how a partner uses a deployed environment',
    'usage acme --since 30d --remote --env production',
  )
    .option('--since <time>', 'a duration such as 7d, a date, or a time with its zone', '30d')
    .option('--json', 'print an object')
    .action(async (shortName: string, options: { since: string } & OutputOptions) => {
      if (!options.remote) {
        io.stderr.write('There is no data locally: add --remote --env NAME.\n')
        return printResult(io, options, null, '')
      }
      const query = await openUsage(options)
      const { since, usage } = await withStore(options, async (store) => {
        const now = await readDatabaseSeconds(store)
        const sinceSeconds = parsePast(options.since, now)
        if (now - sinceSeconds > retentionSeconds) {
          io.stderr.write('Cloudflare keeps these data for three months: earlier requests are not counted.\n')
        }
        return { since: sinceSeconds, usage: await readPartnerUsage(store, query, shortName, sinceSeconds) }
      })
      printResult(io, options, usage, formatUsage(usage, since))
    })
}

function formatUsage(usage: PartnerUsage, sinceSeconds: number): string {
  const { tokens, lists, unchangedLists, errors, lastRequestAt, lastTokenAt } = usage
  const percentage = lists === 0 ? '' : `, ${Math.round((100 * unchangedLists) / lists)} % of them unchanged (304)`
  const ratio = tokens === 0 ? '' : `, one for ${(lists / tokens).toFixed(1)} lists`
  return formatPairs([
    ['since', formatIsoTime(sinceSeconds)],
    ['lists', `${lists}${percentage}`],
    ['tokens', `${tokens}${ratio}`],
    ['last request', lastRequestAt ?? 'none'],
    ['last token', lastTokenAt ?? 'none'],
    ...Object.entries(errors).map(([code, count]): [string, string] => [code, String(count)]),
  ])
}
