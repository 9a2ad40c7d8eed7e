// Formats partners and their credentials, and writes the letters that operators send to partners.
import { formatIsoTime, formatOptionalTime, formatTimes } from '../../shared/iso-time.ts'
import { type PartnerRequest, type ReplacedSecrets } from '../../core/partners/account-changes.ts'
import {
  isRotationDue,
  readPartnerStatus,
  type Credentials,
  type Partner,
} from '../../core/partners/partner-accounts.ts'
import { describeCommand, formatTarget, type Target } from '../../shared/target.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { formatPairs } from '../../terminal/table.ts'
import type { Output } from '../frame/run.ts'

/** @param earlierExpiresAt when the earlier secret ends, in Unix seconds; null when no earlier secret works. */
export function makeNewSecretOutput(
  credentials: Credentials,
  letter: string,
  target: Target,
  earlierExpiresAt: number | null = null,
): Output {
  // An earlier secret must keep working when the new secret is lost: the partner's server still uses the earlier secret.
  const flags = earlierExpiresAt === null ? ['--grace', '0'] : ['--replace-newest']
  const replaceCommand = describeCommand(target, 'partner', 'rotate', credentials.shortName, ...flags)
  const onceSentence = `${formatTarget(target)} The secret is shown only this once: only its hash is stored.`
  const sendSentence = 'Send this text to the partner, and the secret separately, over a channel that you trust:'
  return {
    data: credentials,
    note: [onceSentence, sendSentence, frameLetter(letter)].join('\n'),
    ifOutputFails: `The secret is lost. To make another one: ${replaceCommand}`,
  }
}

function frameLetter(letter: string): string {
  const dashes = '-'.repeat(40)
  return [dashes, letter, dashes].join('\n')
}

/** @returns a line of a letter, after a line end; '' unless the partner is suspended. */
function describeSuspension({ suspendedAt }: Pick<Partner, 'suspendedAt'>): string {
  return suspendedAt === null
    ? ''
    : '\n- Your account is suspended: every request gets 401 until we end the suspension.'
}

/** @returns the letter to a new partner. @param origin the origin of the service; if it is undefined, the letter has no addresses. */
export function formatWelcomeLetter({ shortName, country, clientId }: Credentials, origin: string | undefined): string {
  const api = `${origin}/api/v3/partners`
  const addresses = `
- Token endpoint: ${api}/auth
- Plan list: ${api}/${shortName}/plans
- How to call the API: ${origin}`
  return `You can list the investment plans of ${country}.
- Short name: ${shortName}
- Client ID: ${clientId}. You get the client secret from us separately.${origin === undefined ? '' : addresses}`
}

/** @returns the letter to a partner with a new secret. @param isLost whether the new secret replaces one that was lost. */
export function formatRotationLetter(
  { clientId, shortName }: Credentials,
  { before, earlierExpiresAt, isLost }: Pick<ReplacedSecrets, 'before' | 'earlierExpiresAt'> & { isLost: boolean },
): string {
  const lostLine = isLost ? '\n- The client secret that we sent you last no longer works.' : ''
  const earlierLine =
    earlierExpiresAt === null
      ? 'Your earlier client secrets no longer work: the token endpoint answers 401 invalid_client to them. Put the new secret in place now.'
      : `Your earlier client secret works until ${formatIsoTime(earlierExpiresAt)}. Put the new secret in place before this time.`
  const tokensLine =
    before.suspendedAt === null ? '\n- Access tokens that you have stay valid.' : describeSuspension(before)
  return `There is a new client secret for ${shortName} (client ID ${clientId}). You get it from us separately.${lostLine}
- ${earlierLine}${tokensLine} Your client ID stays the same.`
}

/** @returns the letter to a partner whose tokens were ended, below a line that asks the operator to send the letter. */
export function formatEndedTokensLetter(partner: Partner): string {
  const { clientId, shortName, tokensValidFrom } = partner
  const letter = `An access token of ${shortName} (client ID ${clientId}) may be known to others.
- Access tokens that were issued before ${formatOptionalTime(tokensValidFrom) ?? 'now'} are refused with 401 invalid_token, everywhere within ${freshness}.
- Your client secret stays the same. Request a new access token now.${describeSuspension(partner)}
Remove the token from every place where others could read it, such as a log.`
  return `Send this text to the partner:\n${frameLetter(letter)}`
}

/** @returns the words after `partner` of the command that takes a change back, such as `set acme contact=null`; undefined when no command does. */
export function findWayBack(kind: PartnerRequest['kind'], before: Partner, after: Partner): string[] | undefined {
  const { shortName } = before
  if (kind === 'suspend') return ['resume', shortName]
  if (kind === 'resume') return ['suspend', shortName]
  const changedFields = (['country', 'name', 'contact'] as const).filter((field) => before[field] !== after[field])
  if (kind !== 'set' || changedFields.length === 0) return undefined
  return ['set', shortName, ...changedFields.map((field) => `${field}=${before[field]}`)]
}

/** @returns the letter to a partner whose secrets and tokens were ended, and that gets a new secret. */
export function formatLockdownLetter(
  { clientId, shortName }: Credentials,
  { before, tokensValidFrom }: Pick<ReplacedSecrets, 'before' | 'tokensValidFrom'>,
): string {
  return `A client secret of ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${formatOptionalTime(tokensValidFrom) ?? 'now'} are refused with 401 invalid_token, everywhere within ${freshness}.
- You get a new client secret from us separately. Put it in place of the old one now, then request a new access token.${describeSuspension(before)}
Your client ID stays the same. Remove the old secret from every place where others could read it.`
}

/** @returns a row of the table of `partner list`. The row lacks the client ID, so that the table fits a narrow terminal. */
export function formatSummaryRow(partner: Partner, nowMs: number) {
  const { shortName, name, country, secrets } = partner
  const [oldestSecret] = secrets
  const date = oldestSecret ? formatIsoTime(oldestSecret.createdAt).slice(0, 10) : ''
  const secretSince = isRotationDue(partner, nowMs) ? `${date}, rotate` : date
  return { shortName, name, country, status: readPartnerStatus(partner), secretSince }
}

export function makePartnerOutput(partner: Partner): Output {
  const data = partnerToJson(partner)
  const fields = Object.entries(data).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const secrets = partner.secrets.map(({ createdAt, expiresAt }): [string, string] => {
    const end = expiresAt === null ? '' : `, until ${formatIsoTime(expiresAt)}`
    return ['secret', `since ${formatIsoTime(createdAt)}${end}`]
  })
  return { data, text: formatPairs([...fields, ...secrets]) }
}

/** Formats a partner for --json. Leaves out the secrets of a past time, if a later change has deleted them from the database. */
export function partnerToJson({ id: _id, hasSecretState, secrets, secretEndedAt, ...partner }: Partner) {
  const secretState = hasSecretState && { ...formatTimes({ secretEndedAt }), secrets: secrets.map(formatTimes) }
  return { ...formatTimes(partner), status: readPartnerStatus(partner), ...secretState }
}
