// How partners and their credentials are printed.
import type { Plan } from '../../catalog/plan-schema.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import {
  isRotationDue,
  readPartnerStatus,
  type Credentials,
  type LiveSecret,
  type NewCredentials,
  type Partner,
} from '../core/partner-accounts.ts'
import type { PartnerUsage } from '../core/partner-usage.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { formatAge } from '../terminal/age.ts'
import { formatPairs } from '../terminal/table.ts'

export function formatCredentials({ clientId, clientSecret, shortName, country }: Credentials) {
  return {
    data: { clientId, clientSecret, shortName, country },
    text: [{ 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }],
    note: 'The secret is shown only this once: only its hash is stored.',
  }
}

/** The text for the partner, which never holds the secret. */
export function formatLockdownMessage(
  { clientId, shortName, tokensValidFrom }: Omit<NewCredentials, 'clientSecret'>,
  isSuspended: boolean,
): string {
  const next = isSuspended
    ? 'Your account is suspended: the new secret gets no access token until we end the suspension.'
    : 'Then request a new access token.'
  return `A client secret of your account ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${formatOptionalTime(tokensValidFrom) ?? 'now'} are refused with 401 invalid_token, everywhere within ${freshness}.
- You get a new client secret from us separately. Put it in place of the old one now. ${next}
Your client ID stays the same. Remove the old secret from every place where others could read it.
`
}

export function toSummaryRow(partner: Partner, nowMs: number): Record<string, string> {
  return {
    'SHORT NAME': partner.shortName,
    NAME: partner.name,
    COUNTRY: partner.country,
    'CLIENT ID': partner.clientId,
    STATUS: readPartnerStatus(partner),
    SECRETS: formatSecrets(partner, nowMs),
  }
}

/** The number of live secrets, the age of the oldest, and whether it is due. */
function formatSecrets(partner: Partner, nowMs: number): string {
  const [oldest] = partner.secrets
  const age = oldest ? `, ${formatAge(nowMs - oldest.createdAt * 1000)}` : ''
  return `${partner.secrets.length}${age}${isRotationDue(partner, nowMs) ? ', rotate' : ''}`
}

export function formatPartner(partner: Partner): string {
  const statusAt = formatOptionalTime(partner.closedAt ?? partner.suspendedAt)
  const optional: [string, string | null][] = [
    ['tokens valid from', formatOptionalTime(partner.tokensValidFrom)],
    ['contact', partner.contact],
  ]
  return formatPairs([
    ['short name', partner.shortName],
    ['name', partner.name],
    ['country', partner.country],
    ['client ID', partner.clientId],
    ['status', `${readPartnerStatus(partner)}${statusAt === null ? '' : ` since ${statusAt}`}`],
    ['created', formatIsoTime(partner.createdAt)],
    ...optional.flatMap(([label, text]) => (text === null ? [] : [[label, text] as const])),
    ...partner.secrets.map((secret) => ['secret', formatSecret(secret)] as const),
  ])
}

export function formatSecret({ createdAt, expiresAt }: LiveSecret): string {
  const rotated = expiresAt === null ? '' : `, rotated, works until ${formatIsoTime(expiresAt)}`
  return `since ${formatIsoTime(createdAt)}${rotated}`
}

export function partnerToJson(partner: Partner) {
  const { shortName, name, country, clientId, contact, createdAt, suspendedAt, closedAt, tokensValidFrom } = partner
  return {
    shortName,
    name,
    country,
    clientId,
    status: readPartnerStatus(partner),
    createdAt: formatIsoTime(createdAt),
    suspendedAt: formatOptionalTime(suspendedAt),
    closedAt: formatOptionalTime(closedAt),
    tokensValidFrom: formatOptionalTime(tokensValidFrom),
    contact,
  }
}

export function summaryToJson(partner: Partner, nowMs: number) {
  return {
    ...partnerToJson(partner),
    secretCount: partner.secrets.length,
    oldestSecretAt: formatOptionalTime(partner.secrets[0]?.createdAt ?? null),
    isRotationDue: isRotationDue(partner, nowMs),
  }
}

export function secretToJson({ createdAt, expiresAt }: LiveSecret) {
  return { createdAt: formatIsoTime(createdAt), expiresAt: formatOptionalTime(expiresAt) }
}

/** A row of a table of plans as partners get them. */
export function toPreviewRow(plan: Plan): Record<string, string> {
  const minimums = Object.entries(plan.minInvestableAmounts).map(([code, amount]) => `${amount} ${code}`)
  return {
    ID: String(plan.id),
    'COOL NAME': plan.coolName,
    'FUND TYPE': plan.fundType,
    CURRENCY: plan.currency,
    '1 YEAR': plan.performance1 === null ? '' : `${plan.performance1} %`,
    MINIMUM: minimums.join(', '),
    INVESTABLE: plan.isInvestable ? 'yes' : 'no',
  }
}

export function formatUsage(usage: PartnerUsage, sinceSeconds: number): string {
  const { tokens, lists, unchangedLists, errors, lastRequestAt, lastTokenAt } = usage
  const percentage = lists === 0 ? '' : `, ${Math.round((100 * unchangedLists) / lists)} % of them unchanged (304)`
  const ratio = tokens === 0 ? '' : `, one for ${(lists / tokens).toFixed(1)} lists`
  return formatPairs([
    ['since', formatIsoTime(sinceSeconds)],
    ['lists', `${lists}${percentage}`],
    ['tokens', `${tokens}${ratio}`],
    ['last request', lastRequestAt ?? 'none'],
    ['last token', lastTokenAt ?? 'none'],
    ...Object.entries(errors).map(([code, count]) => [code, String(count)] as const),
  ])
}
