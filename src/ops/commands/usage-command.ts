// The code of partner usage.
import { readDatabaseSeconds } from '../core/change-record.ts'
import { formatIsoTime } from '../core/iso-time.ts'
import { readPartnerUsage, type PartnerUsage } from '../core/partner-usage.ts'
import { parsePast } from '../core/time-arguments.ts'
import { UserError } from '../shared/user-error.ts'
import { formatPairs } from '../terminal/table.ts'
import type { Output, Run } from './run.ts'

/** https://developers.cloudflare.com/analytics/analytics-engine/limits/ */
const retentionSeconds = 92 * 86_400

/** @throws UserError without --remote: the local Worker keeps no data about requests. */
export async function showUsage(
  shortName: string,
  since: string,
  { target, openUsage, withStore, warn }: Run,
): Promise<Output> {
  if (!target.remote) throw new UserError('There is no data locally: add --remote --env NAME.')
  const query = await openUsage(target)
  return withStore(target, async (store) => {
    const now = await readDatabaseSeconds(store)
    const sinceSeconds = parsePast(since, now)
    if (now - sinceSeconds > retentionSeconds) {
      warn('Cloudflare keeps these data for three months: earlier requests are not counted.')
    }
    const usage = await readPartnerUsage(store, query, shortName, sinceSeconds)
    return { value: usage, text: formatUsage(usage, sinceSeconds) }
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
