// The numbers, addresses and answers that pages repeat from src/api and the catalog's schema.
import { defaultTokenLifetimeSeconds } from '../../api/config.ts'
import * as promises from '../../api/promises.ts'
import { maxDigits } from '../../catalog/plan-schema.ts'
import { formatMarkdownTable } from '../markdown.ts'

const { availabilityDays, availabilityTargetPercent, staleIfErrorHours, copyRenewalHours, inProductionSince } = promises

/** The text for a comment such as `<!-- copyHours -->` in a page, by the name in the comment. */
export const promised: Record<string, string> = {
  availabilityDays: String(availabilityDays),
  availabilityPercent: String(availabilityTargetPercent),
  failedMinutes: String(Math.round((1 - availabilityTargetPercent / 100) * availabilityDays * 24 * 60)),
  freshnessMinutes: String(promises.freshnessSeconds / 60),
  // A copy can already be `copyRenewalHours` old when an outage begins. It answers for the remaining hours.
  copyHours: String(staleIfErrorHours - copyRenewalHours),
  noticeDays: String(promises.breakingChangeNoticeDays),
  fairUse: String(promises.fairUsePerMinute),
  digits: String(maxDigits),
  lifetime: String(defaultTokenLifetimeSeconds),
  evidence: describeEvidence(inProductionSince),
  support: formatAddress(promises.support.email),
  securityEmail: formatAddress(promises.securityEmail),
  history: formatMarkdownTable(
    ['Version', 'Date', 'Change'],
    promises.changes.map(({ version, date, text }) => [version, date, text]),
  ),
  questions: formatMarkdownTable(['Question', 'Answer'], Object.entries(promises.ownerAnswers)),
}

function formatAddress(email: string): string {
  return `[${email}](mailto:${email})`
}

/** Returns the sentences that say where the promised numbers were measured. @param since the first day in production, null before it */
export function describeEvidence(since: string | null): string {
  return since === null
    ? 'The service has not run in production yet, so nothing below was measured there. Tests run the service’s own code while plans, accounts and storage change and fail: they check freshness and outages, not availability.'
    : `The service has run in production, on Cloudflare’s network, since ${since}. Availability is measured there. Freshness and outages of the database are also tested, with the service’s own code.`
}
