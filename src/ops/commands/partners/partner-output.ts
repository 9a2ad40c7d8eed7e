// How partners and their credentials are printed.
import type { KeyEntry, PartnerEntry } from '../../core/record/change-record.ts'
import { formatIsoTime, formatOptionalTime, formatTimes } from '../../core/record/iso-time.ts'
import {
  isRotationDue,
  readPartnerStatus,
  type Credentials,
  type Partner,
} from '../../core/partners/partner-accounts.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { formatPairs } from '../../terminal/table.ts'
import type { Output } from '../frame/run.ts'

/** A new secret. @param said of it. */
export function describeSecret(data: Credentials, said: string): Output {
  return { data, note: `The secret is shown only this once: only its hash is stored.\n${said}` }
}

const sending = 'Send this to the partner, and the secret separately, over a channel that you trust:'

/** @param origin undefined when it is not known. */
export function formatWelcome({ shortName, country, clientId }: Credentials, origin: string | undefined): string {
  const api = `${origin}/api/v3/partners`
  const addresses = `
- Token endpoint: ${api}/auth
- Plan list: ${api}/${shortName}/plans
- How to call them: ${origin}`
  return `${sending}

Your account ${shortName} lists the investment plans of ${country}.
- Client ID: ${clientId}. You get the client secret from us separately.${origin === undefined ? '' : addresses}`
}

export function formatLockdownMessage({ clientId, shortName }: Credentials, tokensValidFrom: number | null): string {
  return `${sending}

A client secret of your account ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${formatOptionalTime(tokensValidFrom) ?? 'now'} are refused with 401 invalid_token, everywhere within ${freshness}.
- You get a new client secret from us separately. Put it in place of the old one now, then request a new access token.
Your client ID stays the same. Remove the old secret from every place where others could read it.`
}

/** Without the client ID, which `show` takes: so it fits a narrow terminal. */
export function toSummaryRow(partner: Partner, nowMs: number) {
  const { shortName, name, country, secrets } = partner
  const [oldest] = secrets
  const since = oldest ? formatIsoTime(oldest.createdAt).slice(0, 10) : ''
  const secretSince = isRotationDue(partner, nowMs) ? `${since}, rotate` : since
  return { shortName, name, country, status: readPartnerStatus(partner), secretSince }
}

/** For people, a line for each field that has a value, and for each secret. */
export function describePartner(partner: Partner): Output {
  const data = partnerToJson(partner)
  const lines = Object.entries(data).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const secrets = partner.secrets.map(({ createdAt, expiresAt }): [string, string] => {
    const end = expiresAt === null ? '' : `, until ${formatIsoTime(expiresAt)}`
    return ['secret', `since ${formatIsoTime(createdAt)}${end}`]
  })
  return { data, text: formatPairs([...lines, ...secrets]) }
}

export function partnerToJson({ id: _id, secrets, ...partner }: Partner) {
  return { ...formatTimes(partner), status: readPartnerStatus(partner), secrets: secrets.map(formatTimes) }
}

export function entryToJson({ id, changedAt, kind: change, ...entry }: PartnerEntry | KeyEntry) {
  const status = 'kid' in entry ? {} : { status: readPartnerStatus(entry) }
  return formatTimes({ id, changedAt, change, ...entry, ...status })
}
