// How partners and their credentials are printed.
import type { Plan } from '../../catalog/plan-schema.ts'
import type { ChangeEntry } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import {
  isRotationDue,
  readPartnerStatus,
  type Credentials,
  type LiveSecret,
  type NewCredentials,
  type Partner,
} from '../core/partner-accounts.ts'
import type { Owned } from '../core/secret-owner.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { formatAge } from '../terminal/age.ts'
import { formatPairs } from '../terminal/table.ts'

/** A line for each field that has a value, or for each of its values: `clientId` is `client id`. */
function formatLines(fields: object): string {
  const pairs = Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    const values = [value].flat().filter((one) => typeof one === 'string')
    return values.map((one) => [name.replaceAll(/[A-Z]/g, ' $&').toLowerCase(), one] as const)
  })
  return formatPairs(pairs)
}

export function formatCredentials({ shortName, country, clientId, clientSecret }: Credentials) {
  const data = { shortName, country, clientId, clientSecret }
  return { data, text: formatLines(data), note: 'The secret is shown only this once: only its hash is stored.' }
}

/** What comes before a text for the partner, which never holds the secret. */
export function formatSending(shortName: string, message: string): string {
  return `Send this to ${shortName}, and the secret separately, over a channel that you trust:\n\n${message}`
}

/** @param origin undefined when it is not known. */
export function formatWelcome({ shortName, country, clientId }: Credentials, origin: string | undefined): string {
  const api = `${origin}/api/v3/partners`
  const addresses = `
- Token endpoint: ${api}/auth
- Plan list: ${api}/${shortName}/plans
- How to call them: ${origin}`
  return `Your account ${shortName} lists the investment plans of ${country}.
- Client ID: ${clientId}. You get the client secret from us separately.${origin === undefined ? '' : addresses}`
}

export function formatLockdownMessage({ clientId, shortName, tokensValidFrom }: NewCredentials): string {
  return `A client secret of your account ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${formatOptionalTime(tokensValidFrom) ?? 'now'} are refused with 401 invalid_token, everywhere within ${freshness}.
- You get a new client secret from us separately. Put it in place of the old one now, then request a new access token.
Your client ID stays the same. Remove the old secret from every place where others could read it.`
}

/** Without the client ID, which `show` takes: so it fits a narrow terminal. */
export function toSummaryRow(partner: Partner, nowMs: number) {
  const { shortName, name, country, secrets } = partner
  const [oldest] = secrets
  const age = oldest ? `, ${formatAge(nowMs - oldest.createdAt * 1000)}` : ''
  const rotation = isRotationDue(partner, nowMs) ? ', rotate' : ''
  return {
    shortName,
    name,
    country,
    status: readPartnerStatus(partner),
    secrets: `${secrets.length}${age}${rotation}`,
  }
}

export function formatPartner(partner: Partner): string {
  const { secrets: _secrets, ...fields } = partnerToJson(partner)
  return formatLines({ ...fields, secret: partner.secrets.map(formatSecret) })
}

function formatSecret({ createdAt, expiresAt }: LiveSecret): string {
  return `since ${formatIsoTime(createdAt)}${expiresAt === null ? '' : `, until ${formatIsoTime(expiresAt)}`}`
}

export function partnerToJson({ changeId: _changeId, secrets, ...partner }: Partner) {
  return { ...writeTimes(partner), status: readPartnerStatus(partner), secrets: secrets.map(writeTimes) }
}

/** Unix seconds become ISO 8601. */
function writeTimes(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      const isTime = typeof value === 'number' && (name.endsWith('At') || name === 'tokensValidFrom')
      return [name, isTime ? formatIsoTime(value) : value]
    }),
  )
}

export function entryToJson({ kid, ...entry }: ChangeEntry) {
  const { id, changedAt, kind: change, actor, command, note, ...partner } = entry
  const subject = kid === null ? { ...partner, status: readPartnerStatus(partner) } : { kid }
  return writeTimes({ id, changedAt, change, ...subject, actor, command, note })
}

/** @param ifItLeaked the command that ends it. */
export function formatOwned({ kind, partner, createdAt, expiresAt, state }: Owned, ifItLeaked: string) {
  const { shortName, name, clientId } = partner
  const data = { kind, state, ...writeTimes({ createdAt, expiresAt }), shortName, name, clientId, ifItLeaked }
  const note = kind === 'token' ? 'The token says so of itself: its signature was not checked.' : undefined
  return { data, text: formatLines(data), note }
}

/** A row of a table of plans as partners get them. */
export function toPreviewRow({ id, coolName, fundType, currency, performance1, ...plan }: Plan) {
  const minimum = Object.entries(plan.minInvestableAmounts).map(([code, amount]) => `${amount} ${code}`)
  const oneYear = performance1 === null ? '' : `${performance1} %`
  return { id, coolName, fundType, currency, oneYear, minimum: minimum.join(', '), investable: plan.isInvestable }
}
