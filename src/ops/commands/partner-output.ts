// How partners and their credentials are printed.
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import {
  isRotationDue,
  readPartnerStatus,
  type Credentials,
  type LiveSecret,
  type LockedDown,
  type Partner,
  type PartnerSummary,
} from '../core/partner-accounts.ts'
import { formatAge } from '../terminal/age.ts'
import { formatPairs } from '../terminal/table.ts'
import type { Output } from './run.ts'

export function formatCredentials({ clientId, clientSecret, shortName, country }: Credentials): Output {
  return {
    value: { clientId, clientSecret, shortName, country },
    text: [{ 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }],
    note: 'The secret is shown only this once: only its hash is stored.',
  }
}

/** @returns the credentials, and the text for the partner, which never holds the secret. */
export function formatLockdown(made: LockedDown, isSuspended: boolean): { output: Output; message: string } {
  const { tokensValidFrom, ...credentials } = made
  const message = formatLockdownMessage(credentials, tokensValidFrom, isSuspended)
  const value = { ...credentials, tokensValidFrom: formatOptionalTime(tokensValidFrom), message }
  return { output: { ...formatCredentials(credentials), value }, message }
}

function formatLockdownMessage(
  { clientId, shortName }: Credentials,
  tokensValidFrom: number | null,
  isSuspended: boolean,
): string {
  const time = tokensValidFrom === null ? 'now' : formatIsoTime(tokensValidFrom)
  const next = isSuspended
    ? 'Your account is suspended: the new secret gets no access token until we end the suspension.'
    : 'Then request a new access token.'
  return `A client secret of your account ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${time} are refused with 401 invalid_token, everywhere within two minutes.
- You get a new client secret from us separately. Put it in place of the old one now. ${next}
Your client ID stays the same. Remove the old secret from every place where others could read it.
`
}

export function toSummaryRow(partner: PartnerSummary, nowMs: number): Record<string, string> {
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
function formatSecrets(partner: PartnerSummary, nowMs: number): string {
  const { secretCount, oldestSecretAt } = partner
  if (oldestSecretAt === null) return String(secretCount)
  const due = isRotationDue(partner, nowMs) ? ', rotate' : ''
  return `${secretCount}, ${formatAge(nowMs - oldestSecretAt * 1000)}${due}`
}

export function formatPartner(partner: Partner, secrets: readonly LiveSecret[]): string {
  const statusAt = partner.closedAt ?? partner.suspendedAt
  const since = statusAt === null ? '' : ` since ${formatIsoTime(statusAt)}`
  return formatPairs([
    ['short name', partner.shortName],
    ['name', partner.name],
    ['country', partner.country],
    ['client ID', partner.clientId],
    ['status', `${readPartnerStatus(partner)}${since}`],
    ['created', formatIsoTime(partner.createdAt)],
    ...(partner.tokensValidFrom === null
      ? []
      : [['tokens valid from', formatIsoTime(partner.tokensValidFrom)] as const]),
    ...(partner.contact === null ? [] : [['contact', partner.contact] as const]),
    ...secrets.map((secret): [string, string] => ['secret', formatSecret(secret)]),
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

export function summaryToJson(partner: PartnerSummary, nowMs: number) {
  const { secretCount, oldestSecretAt } = partner
  const secrets = { secretCount, oldestSecretAt: formatOptionalTime(oldestSecretAt) }
  return { ...partnerToJson(partner), ...secrets, isRotationDue: isRotationDue(partner, nowMs) }
}

export function secretToJson({ createdAt, expiresAt }: LiveSecret) {
  return { createdAt: formatIsoTime(createdAt), expiresAt: formatOptionalTime(expiresAt) }
}
