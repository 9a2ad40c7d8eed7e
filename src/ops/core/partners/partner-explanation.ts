// Explains why the requests of a partner are refused: by its state, and by the changes that ended its secrets or tokens.
import { selectPartnerEntries, type Partner, type PartnerEntry } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { formatIsoTime, formatOptionalTime } from '../../shared/iso-time.ts'
import { readPartnerStatus } from './partner-accounts.ts'

/** @param at Unix seconds: explains the partner as it was at this time. @returns sentences. */
export async function explainPartner({ db }: Store, partner: Partner, at = Infinity): Promise<string[]> {
  const { shortName, country, suspendedAt, tokensValidFrom } = partner
  const entries = await selectPartnerEntries(db, { shortName })
  const findLast = (...kinds: string[]) =>
    entries.find(({ kind, changedAt }) => kinds.includes(kind) && changedAt <= at)
  const status = `${shortName} is ${readPartnerStatus(partner)}`
  const sentences = [
    suspendedAt === null
      ? `${status}, and lists the plans of ${country}.`
      : `${status} since ${explainEntry(findLast('end', 'suspend'))}: every request gets 401.`,
    ...explainSecrets(partner, findLast('create', 'rotate', 'replace-newest', 'replace-all', 'lockdown')),
  ]
  const resumed = suspendedAt === null && findLast('resume')
  if (resumed) sentences.push(`Its last suspension ended at ${explainEntry(resumed)}.`)
  if (tokensValidFrom === null) return sentences
  const ended = explainEntry(findLast('lockdown', 'end-tokens'))
  return [...sentences, `Tokens issued before ${formatIsoTime(tokensValidFrom)} get 401 invalid_token, since ${ended}.`]
}

/** @param newSecret the change that made the newest secret. @returns sentences about the newest secret and the previous secret. */
function explainSecrets(
  { secrets, secretEndedAt, hasSecretState }: Partner,
  newSecret: PartnerEntry | undefined,
): string[] {
  const newest = `Its newest secret was made at ${explainEntry(newSecret)}.`
  if (!hasSecretState) return [newest, 'Which other secrets worked then is no longer recorded.']
  if (secrets.length === 0) return []
  const endedAtOnce = newSecret?.kind === 'create' ? null : newSecret?.changedAt
  const earlierEnd = formatOptionalTime(secrets[0]?.expiresAt ?? secretEndedAt ?? endedAtOnce ?? null)
  if (earlierEnd === null) return [newest]
  const effect =
    secrets.length > 1 ? `works until ${earlierEnd}` : `ended at ${earlierEnd}, and gets 401 invalid_client`
  return [newest, `The previous secret ${effect}.`]
}

/** `2026-11-21T12:00:00Z (rotate by amina: Yearly.)` */
function explainEntry(entry: PartnerEntry | undefined): string {
  if (entry === undefined) return 'a time that the record does not have'
  const { changedAt, kind, actor, note } = entry
  return `${formatIsoTime(changedAt)} (${kind} by ${actor}${note === null ? '' : `: ${note}`})`
}
