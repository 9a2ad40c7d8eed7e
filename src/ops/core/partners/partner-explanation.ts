// Explains why the requests of a partner are refused: by its state, and by the changes that ended its secrets or tokens.
import { selectPartnerEntries, type Partner, type PartnerEntry } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { readPartnerStatus } from './partner-accounts.ts'

/** Explains status, secrets and ended tokens by the changes that caused them. The first sentence is about the status. @param partner the partner at `atSeconds`, by default now. */
export async function explainPartner({ db }: Store, partner: Partner, atSeconds = Infinity): Promise<string[]> {
  const { shortName, country, suspendedAt, tokensValidFrom } = partner
  const entriesNewestFirst = await selectPartnerEntries(db, { shortName })
  const findNewestEntry = (...kinds: string[]) =>
    entriesNewestFirst.find(({ kind, changedAt }) => kinds.includes(kind) && changedAt <= atSeconds)
  const status = `${shortName} is ${readPartnerStatus(partner)}`
  const sentences = [
    suspendedAt === null
      ? `${status}, and lists the plans of ${country}.`
      : `${status} since ${explainEntry(findNewestEntry('end', 'suspend'))}: every request gets 401.`,
    ...explainSecrets(partner, findNewestEntry('create', 'rotate', 'replace-newest', 'replace-all', 'lockdown')),
  ]
  const resumeEntry = suspendedAt === null && findNewestEntry('resume')
  if (resumeEntry) sentences.push(`Its last suspension ended at ${explainEntry(resumeEntry)}.`)
  if (tokensValidFrom !== null) {
    const endEntry = explainEntry(findNewestEntry('lockdown', 'end-tokens'))
    sentences.push(`Tokens issued before ${formatIsoTime(tokensValidFrom)} get 401 invalid_token, since ${endEntry}.`)
  }
  return sentences
}

/** @param newSecret the change that made the newest secret; undefined when the record does not have it. */
function explainSecrets(
  { secrets, secretEndedAt, hasSecretState }: Partner,
  newSecret: PartnerEntry | undefined,
): string[] {
  const newestSentence = `Its newest secret was made at ${explainEntry(newSecret)}.`
  if (!hasSecretState) return [newestSentence, 'The record no longer shows which other secrets worked then.']
  const [oldestSecret] = secrets
  // An ended partner has no secrets.
  if (oldestSecret === undefined) return []
  // Only the newest secret has no expiry.
  const previousEnd = oldestSecret.expiresAt
  if (previousEnd !== null) return [newestSentence, `The previous secret works until ${formatIsoTime(previousEnd)}.`]
  // Without a grace period, the previous secret ended when the newest secret replaced it.
  const replacedAt = newSecret?.kind === 'create' ? undefined : newSecret?.changedAt
  const endedAt = secretEndedAt ?? replacedAt
  if (endedAt === undefined) return [newestSentence]
  return [newestSentence, `The previous secret ended at ${formatIsoTime(endedAt)}, and gets 401 invalid_client.`]
}

/** Formats an entry of the record, such as `2026-11-21T12:00:00Z (rotate by amina: Yearly.)`. */
function explainEntry(entry: PartnerEntry | undefined): string {
  if (entry === undefined) return 'a time that the record does not have'
  const { changedAt, kind, actor, note } = entry
  return `${formatIsoTime(changedAt)} (${kind} by ${actor}${note === null ? '' : `: ${note}`})`
}
