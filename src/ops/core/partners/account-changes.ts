// Changes partners and their secrets. Each change adds a row to the record, and then marks the partner in KV: see partner-copy.ts.
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
  describeFieldProblems,
  generateSecret,
  storeContact,
  type Credentials,
  type PartnerFields,
} from './partner-accounts.ts'
import { makeMarkedChange, type PrintWarning, type RecordedPartner } from './partner-copy.ts'

export interface Operator {
  attribution: Attribution
  warn: PrintWarning
}

export type PartnerRequest =
  | { kind: 'suspend' | 'resume' | 'end' | 'end-tokens' }
  /** `seenId`: the `id` of the partner that the operator saw. If somebody changed the partner since, the change is refused. */
  | ({ kind: 'set'; seenId?: number | undefined } & PartnerFields)

export interface ReplacedSecrets {
  /** The partner before the change. */
  before: Partner
  /** Include the new secret, which is stored nowhere. */
  credentials: Credentials
  /** The Unix second at which the earlier secret ends; null when no earlier secret works. */
  earlierExpiresAt: number | null
  /** Tokens that were issued before this Unix second are refused. Null when no token was ever ended. */
  tokensValidFrom: number | null
}

/**
 * Changes a partner unless it is already as requested, and marks it in KV unless KV's copy stays right. `end` is for good: the short name stays taken, and the record keeps all changes.
 * @param name the short name or the client ID.
 * @returns the partner before the change.
 * @throws UserError when a value is not valid, there is no such partner, it has ended (except for `end`), or somebody else changes it at the same time.
 */
export async function changePartner(
  store: Store,
  name: string,
  request: PartnerRequest,
  { attribution, warn }: Operator,
): Promise<Partner> {
  if (request.kind === 'set') throwProblems(describeFieldProblems(request))
  const { partnerBefore } = await makeMarkedChange(store, warn, {
    name,
    kind: request.kind,
    change: (recordedPartner) => insertRequestedChange(store, recordedPartner, request, attribution),
  })
  // The contact is stored after the mark, so that a failure of the database here can't prevent the mark.
  if (request.kind === 'set' && request.contact !== undefined) {
    await storeContact(store, partnerBefore.shortName, request.contact)
  }
  // If this fails, the Worker's schedule deletes the contacts of ended partners and the hashes of earlier secrets.
  await deleteLeftovers(store.db).catch(() => {})
  return partnerBefore
}

/**
 * Makes a new secret, and marks the partner in KV. Returns the secret only after the mark is written: an operator who stops the command
 * earlier sees no secret, and so runs the command again.
 * @param name the short name or the client ID.
 * @throws UserError when the change is refused, there is no such partner, the partner has ended, or somebody else changes it at the same time. ConfigError as `generateSecret`.
 */
export async function replaceSecrets(
  store: Store,
  name: string,
  replacement: SecretReplacement,
  { attribution, warn }: Operator,
): Promise<ReplacedSecrets> {
  const { kind } = replacement
  const { partnerBefore, result } = await makeMarkedChange(store, warn, {
    name,
    kind,
    change: (recordedPartner) => insertNewSecret(store, recordedPartner, replacement, attribution),
  })
  // If this fails, the Worker's schedule deletes the hashes of earlier secrets.
  await deleteLeftovers(store.db).catch(() => {})
  const { credentials, changedAt, tokensValidFrom } = result
  const graceEnd = replacement.kind === 'rotate' ? changedAt + replacement.graceSeconds : null
  // `replace-newest` keeps the older of two secrets, which comes first. A single secret has no `expiresAt`.
  const olderSecretEnd = partnerBefore.secrets[0]?.expiresAt ?? null
  const earlierExpiresAt = kind === 'replace-newest' ? olderSecretEnd : graceEnd
  return { before: partnerBefore, credentials, earlierExpiresAt, tokensValidFrom }
}

/**
 * Changes the partner, unless it is already as requested. @returns its entries, with a new entry only if the change makes KV's copy wrong.
 * @throws UserError when the state of the partner does not allow the change, or somebody else changed the partner.
 */
async function insertRequestedChange(
  store: Store,
  recordedPartner: RecordedPartner,
  request: PartnerRequest,
  attribution: Attribution,
): Promise<Pick<RecordedPartner, 'entries'>> {
  const { id, name, country, contact, shortName } = recordedPartner.partner
  if (isAsRequested(recordedPartner.partner, request)) return recordedPartner
  throwProblems(describeRefusal(store, recordedPartner.partner, request.kind))
  if (request.kind !== 'set') return insertChange(store, recordedPartner, request, attribution)
  if (request.seenId !== undefined && request.seenId !== id) throw makeOvertakenError(store, shortName)
  const isNewContact = request.contact !== undefined && request.contact !== contact
  const change = { name, country, ...request, kind: isNewContact ? 'set-contact' : 'set' } as const
  const madeChange = await insertChange(store, recordedPartner, change, attribution)
  // KV's copy has the country, but neither name nor contact.
  return change.country === country ? recordedPartner : madeChange
}

/** @throws UserError when the state of the partner allows no such secret, or somebody else changed the partner. ConfigError as `generateSecret`. */
async function insertNewSecret(
  store: Store,
  recordedPartner: RecordedPartner,
  replacement: SecretReplacement,
  attribution: Attribution,
) {
  const { shortName, country, clientId } = recordedPartner.partner
  throwProblems(describeRefusal(store, recordedPartner.partner, replacement.kind))
  const { clientSecret, secretHash } = await generateSecret(store)
  const madeChange = await insertChange(store, recordedPartner, { ...replacement, secretHash }, attribution)
  return { ...madeChange, credentials: { shortName, country, clientId, clientSecret } }
}

/** @returns the new row, with the partner's entries, the new entry first. @throws UserError when somebody else changed the partner. */
async function insertChange(
  store: Store,
  { partner, entries }: RecordedPartner,
  change: PartnerChange,
  attribution: Attribution,
): Promise<Pick<RecordedPartner, 'entries'> & MadeChange> {
  const madeChange = await recordChange(store, attribution, (db, request) =>
    insertPartnerChange(db, request, partner.id, change),
  )
  if (madeChange === undefined) throw makeOvertakenError(store, partner.shortName)
  return { ...madeChange, entries: [{ kind: change.kind, ...madeChange }, ...entries] }
}

function makeOvertakenError({ target }: Store, shortName: string): UserError {
  const see = describeCommand(target, 'partner', 'show', shortName)
  return new UserError([`Somebody else changed ${shortName} at the same time.`, `Before you try again, see: ${see}`])
}

/** True if a partner is already as requested. Such a request is not recorded: a second entry would name a second author. */
function isAsRequested(partner: Partner, request: PartnerRequest): boolean {
  const { suspendedAt, endedAt } = partner
  if (endedAt !== null) return request.kind === 'end'
  if (request.kind === 'suspend') return suspendedAt !== null
  if (request.kind === 'resume') return suspendedAt === null
  if (request.kind !== 'set') return false
  const fields = ['name', 'country', 'contact'] as const
  return fields.every((field) => request[field] === undefined || request[field] === partner[field])
}

/** @returns the lines of an error; an empty list for a change that the state of the partner allows. */
function describeRefusal({ target }: Store, partner: Partner, kind: PartnerChange['kind']): string[] {
  const { shortName, endedAt, secrets } = partner
  // The oldest secret comes first, and the newest secret has no expiry: null if the partner has only one secret.
  const olderExpiresAt = secrets[0]?.expiresAt ?? null
  const partnerCommand = (...words: string[]) => describeCommand(target, 'partner', ...words)
  if (endedAt !== null) {
    const createCommand = partnerCommand('create', '--help')
    return [
      `${shortName} was ended at ${formatIsoTime(endedAt)}, for good.`,
      `To onboard the partner again, create it under another short name: ${createCommand}`,
    ]
  }
  const rotateCommand = (...flags: string[]) => partnerCommand('rotate', shortName, ...flags)
  if (kind === 'replace-newest' && olderExpiresAt === null) {
    return [`${shortName} has only one secret.`, `To keep this secret for a grace period: ${rotateCommand()}`]
  }
  if (kind === 'rotate' && olderExpiresAt !== null) {
    return [
      `${shortName} has two live secrets, and the older secret works until ${formatIsoTime(olderExpiresAt)}.`,
      `If the newer secret is lost, replace it: ${rotateCommand('--replace-newest')}`,
      `To end both secrets now: ${rotateCommand('--grace', '0')}`,
    ]
  }
  return []
}
