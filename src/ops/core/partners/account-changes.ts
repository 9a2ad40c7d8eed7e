// Changes of partners and of their secrets. Each change adds a row to the record, and then marks the partner in KV: see partner-copy.ts.
import {
  insertPartnerChange,
  type MadeChange,
  type PartnerChange,
  type SecretReplacement,
} from '../../../db/partner-changes.ts'
import { deleteLeftovers } from '../../../db/leftovers.ts'
import type { Partner } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { recordChange } from '../record/recorded-change.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { throwProblems, UserError } from '../../shared/user-error.ts'
import {
  findFieldProblems,
  generateSecret,
  storeContact,
  type Credentials,
  type PartnerFields,
} from './partner-accounts.ts'
import { changeAndMark, type PrintWarning, type RecordedPartner } from './partner-copy.ts'

/** The author of a change. */
export interface Operator {
  attribution: Attribution
  /** Prints a warning for the author. */
  warn: PrintWarning
}

export type PartnerRequest =
  | { kind: 'suspend' | 'resume' | 'end' | 'end-tokens' }
  /** `seenId`: the `id` of the partner that the operator saw. If somebody changed the partner since, the change is refused. */
  | ({ kind: 'set'; seenId?: number | undefined } & PartnerFields)

/** A new secret, which is stored nowhere else, and what became of earlier secrets and tokens. */
export interface ReplacedSecrets {
  before: Partner
  credentials: Credentials
  /** The earlier secret works until then, in Unix seconds. Null when no earlier secret works. */
  earlierExpiresAt: number | null
  /** Tokens that were issued before are refused. Unix seconds; null when all tokens are accepted. */
  tokensValidFrom: number | null
}

/**
 * Changes a partner, and marks it in KV.
 *
 * - `end-tokens`: every token that was issued until now ends.
 * - `end` is for good: secrets and contact are deleted; the short name stays taken, and the record keeps all changes.
 * @param name the short name or the client ID.
 * @returns the partner before the change.
 * @throws UserError when a value is not valid, there is no such partner, it has ended, or somebody else changes it at the same time.
 */
export async function changePartner(
  store: Store,
  name: string,
  request: PartnerRequest,
  { attribution, warn }: Operator,
): Promise<Partner> {
  if (request.kind === 'set') throwProblems(findFieldProblems(request))
  const { before } = await changeAndMark(store, warn, {
    name,
    kind: request.kind,
    change: (found) => makeRequestedChange(store, found, request, attribution),
  })
  // Stores the contact after the mark, so that a failure of the database here can't prevent the mark.
  if (request.kind === 'set' && request.contact !== undefined) {
    await storeContact(store, before.shortName, request.contact)
  }
  // Deletes contacts of ended partners, and old hashes. If this fails, the schedule deletes them.
  await deleteLeftovers(store.db).catch(() => {})
  return before
}

/**
 * Makes a new secret, and marks the partner in KV. Returns the secret only after the mark is written, so that an operator who stops the
 * command before has no secret, and runs it again.
 *
 * - `rotate`: the old secret works for another `graceSeconds`.
 * - `replace-all`: every other secret ends.
 * - `replace-newest`: the newest secret was lost; the older secret ends when it would have ended anyway.
 * - `lockdown`, for a leak: every secret and every token ends. A suspended partner stays suspended.
 * @param name the short name or the client ID.
 * @throws UserError when there is no such partner, it has ended, its secrets don't fit, or somebody else changes it at the same time.
 */
export async function replaceSecrets(
  store: Store,
  name: string,
  replacement: SecretReplacement,
  { attribution, warn }: Operator,
): Promise<ReplacedSecrets> {
  const { kind } = replacement
  const { before, made } = await changeAndMark(store, warn, {
    name,
    kind,
    change: (found) => makeSecretChange(store, found, replacement, attribution),
  })
  await deleteLeftovers(store.db).catch(() => {})
  const { credentials, changedAt, tokensValidFrom } = made
  const kept = kind === 'replace-newest' ? (before.secrets[0]?.expiresAt ?? null) : null
  return {
    before,
    credentials,
    earlierExpiresAt: kind === 'rotate' ? changedAt + replacement.graceSeconds : kept,
    tokensValidFrom,
  }
}

/** Inserts the row of a change. @returns the partner's entries after the change, or before it if KV's copy stays right. */
async function makeRequestedChange(
  store: Store,
  found: RecordedPartner,
  request: PartnerRequest,
  attribution: Attribution,
): Promise<Pick<RecordedPartner, 'entries'>> {
  const { name, country, contact, shortName } = found.partner
  if (isDone(found.partner, request)) return found
  throwProblems(explainRefusal(store, found.partner, request.kind))
  if (request.kind === 'set' && (request.seenId ?? found.partner.id) !== found.partner.id) {
    throw makeOvertakenError(store, shortName)
  }
  const isSameContact = request.kind === 'set' && [undefined, contact].includes(request.contact)
  const row =
    request.kind === 'set'
      ? ({ name, country, ...request, kind: isSameContact ? 'set' : 'set-contact' } as const)
      : request
  const made = await insertChange(store, found, row, attribution)
  // KV's copy has neither name nor contact, so it stays.
  return 'country' in row && row.country === country ? found : made
}

/** Makes a secret, and inserts the row of the change. @returns the entries after the change, and the credentials. */
async function makeSecretChange(
  store: Store,
  found: RecordedPartner,
  replacement: SecretReplacement,
  attribution: Attribution,
) {
  const { shortName, country, clientId } = found.partner
  throwProblems(explainRefusal(store, found.partner, replacement.kind))
  const { clientSecret, secretHash } = await generateSecret(store)
  const made = await insertChange(store, found, { ...replacement, secretHash }, attribution)
  return { ...made, credentials: { shortName, country, clientId, clientSecret } }
}

/** @returns the entries of the partner, the new one first. @throws UserError when somebody else changed the partner meanwhile. */
async function insertChange(
  store: Store,
  { partner, entries }: RecordedPartner,
  row: PartnerChange,
  attribution: Attribution,
): Promise<Pick<RecordedPartner, 'entries'> & MadeChange> {
  const made = await recordChange(store, attribution, (db, recorded) =>
    insertPartnerChange(db, recorded, partner.id, row),
  )
  if (made !== undefined) return { ...made, entries: [{ kind: row.kind, ...made }, ...entries] }
  throw makeOvertakenError(store, partner.shortName)
}

function makeOvertakenError({ target }: Store, shortName: string): UserError {
  const see = describeCommand(target, 'partner', 'show', shortName)
  return new UserError([`Somebody else changed ${shortName} at the same time.`, `Before you try again, see: ${see}`])
}

/** Returns whether the partner is already as requested. Then nothing is recorded: a second entry would name a second author. */
function isDone(partner: Partner, request: PartnerRequest): boolean {
  const { suspendedAt, endedAt } = partner
  if (endedAt !== null) return request.kind === 'end'
  if (request.kind === 'suspend') return suspendedAt !== null
  if (request.kind === 'resume') return suspendedAt === null
  const fields = ['name', 'country', 'contact'] as const
  return (
    request.kind === 'set' && fields.every((field) => request[field] === undefined || request[field] === partner[field])
  )
}

/** @returns the lines of a refusal, or none. A partner has at most two live secrets, and `replace-newest` needs two. */
function explainRefusal({ target }: Store, partner: Partner, kind: PartnerChange['kind']): string[] {
  const { shortName, endedAt, secrets } = partner
  const olderExpiresAt = secrets[0]?.expiresAt ?? null
  const partnerCommand = (...words: string[]) => describeCommand(target, 'partner', ...words)
  if (endedAt !== null) {
    const create = partnerCommand('create', '--help')
    return [
      `${shortName} was ended at ${formatIsoTime(endedAt)}, for good.`,
      `To onboard it again, create it under another short name: ${create}`,
    ]
  }
  const rotate = (...flags: string[]) => partnerCommand('rotate', shortName, ...flags)
  if (kind === 'replace-newest' && olderExpiresAt === null) {
    return [`${shortName} has only one secret.`, `To keep it for a grace period: ${rotate()}`]
  }
  if (kind === 'rotate' && olderExpiresAt !== null) {
    return [
      `${shortName} has two live secrets, and the older one works until ${formatIsoTime(olderExpiresAt)}.`,
      `If the newer secret is lost, replace it: ${rotate('--replace-newest')}`,
      `To end both now: ${rotate('--grace', '0')}`,
    ]
  }
  return []
}
