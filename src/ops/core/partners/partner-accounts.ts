// Partners and their credentials.
import { abbreviate } from '../../../abbreviate.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../../crypto/client-secret.ts'
import { deleteLeftovers } from '../../../db/leftovers.ts'
import {
  insertNewPartner,
  insertPartnerChange,
  setContact,
  type MadeChange,
  type PartnerChange,
  type SecretReplacement,
} from '../../../db/partner-changes.ts'
import { countListedPlans } from '../../../db/health-queries.ts'
import { selectPartnerEntries, selectPartner, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import { readPbkdf2Iterations } from '../../../api/config.ts'
import { isCausedBy } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { findCountryProblem, toUpperCaseCode } from '../../shared/country.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { findLineProblem } from '../../shared/line-problem.ts'
import { changeWithCopy, type OutageEffect, type RecordedPartner, type PrintWarning } from './partner-copy.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { recordChange } from '../record/recorded-change.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { throwProblems, UserError } from '../../shared/user-error.ts'

export type { Partner }

export type NewPartner = Pick<Partner, 'shortName' | 'name' | 'country'> & { contact?: string | undefined }

/** The secret can't be shown again: only its hash is stored. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

/** The author of a change, and where its warnings are printed. */
export interface Operator {
  attribution: Attribution
  warn: PrintWarning
}

/** The values that `set` changes. A contact of null deletes it. */
export interface PartnerFields {
  name?: string
  country?: string
  contact?: string | null
}

export type PartnerRequest =
  | { kind: 'suspend' | 'resume' | 'close' | 'end-tokens' }
  /** `seenId` is that of the partner that the operator was asked about: a later change refuses this one. */
  | ({ kind: 'set'; seenId?: number | undefined } & PartnerFields)

/** Secrets that were replaced. The new one must be shown before anything else: nothing else has it. */
export interface ReplacedSecrets {
  before: Partner
  made: Credentials
  /** Unix seconds: until then, an earlier secret works. Null when none does. */
  earlierExpiresAt: number | null
  tokensValidFrom: number | null
  /** Ends when KV's copy of the partner is ended, or deleted: that can take minutes. */
  copied: Promise<void>
}

/** A secret is replaced once a year, also when nobody knows of a leak. */
const maxSecretAgeMs = 365 * 86_400_000
const maxLineLength = 200

export function isRotationDue({ secrets: [oldest] }: Pick<Partner, 'secrets'>, nowMs: number): boolean {
  return oldest !== undefined && nowMs - oldest.createdAt * 1000 > maxSecretAgeMs
}

export function readPartnerStatus({ suspendedAt, closedAt }: Pick<Partner, 'suspendedAt' | 'closedAt'>): string {
  if (closedAt !== null) return 'closed'
  return suspendedAt === null ? 'active' : 'suspended'
}

/** In the order of their short names. */
export function listPartners({ db }: Store): Promise<Partner[]> {
  return selectPartners(db)
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds Unix seconds: as it was at the end of that second, except for its contact and its secrets.
 * @throws UserError when there is no such partner, or was none then.
 */
export async function findPartner({ db, target }: Store, name: string, atSeconds?: number): Promise<Partner> {
  const partner = await selectPartner(db, name, atSeconds)
  if (partner) return partner
  const [verb, when] = atSeconds === undefined ? ['is', ''] : ['was', ` at ${formatLocalTime(atSeconds)}`]
  const names = (await selectPartners(db)).map(({ shortName }) => shortName)
  const fix = suggestName(name, names) ?? `See: ${describeCommand(target, 'partner', 'list')}`
  throw new UserError(`There ${verb} no partner ${abbreviate(name)}${when}. ${fix}`)
}

/**
 * Checks the contact as well, but does not store it: `setContact` does, once the secret was shown.
 * @throws UserError when the new partner is not valid, or its short name is taken.
 */
export async function createPartner(
  store: Store,
  { contact, ...partner }: NewPartner,
  attribution: Attribution,
): Promise<Credentials> {
  const { shortName, name, country } = partner
  throwProblems([findShortNameProblem(shortName), ...findFieldProblems({ name, country, ...(contact && { contact }) })])
  const clientId = generateClientId()
  const { clientSecret, secretHash } = await generateSecret(store)
  const row = { ...partner, clientId, secretHash }
  try {
    await recordChange(store, attribution, (db, request) => insertNewPartner(db, request, row))
  } catch (error) {
    if (!isCausedBy(error, 'change_record.partner')) throw error
    const list = describeCommand(store.target, 'partner', 'list')
    throw new UserError(`The short name ${shortName} is taken. Choose another, or see: ${list}`)
  }
  return { shortName, country, clientId, clientSecret }
}

/** How to reach a partner is in no record. */
export async function storeContact({ db }: Store, shortName: string, contact: string | null): Promise<void> {
  await setContact(db, shortName, contact)
}

export function findShortNameProblem(shortName: string): string | undefined {
  if (/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName)) return undefined
  return `The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`
}

function findFieldProblems({ name, country, contact = null }: PartnerFields): (string | undefined)[] {
  return [
    name === 'null' ? 'A partner needs a name: only its contact can be null.' : undefined,
    name === undefined ? undefined : findLineProblem('name', name, maxLineLength),
    country === undefined ? undefined : findCountryProblem(country),
    contact === null ? undefined : findLineProblem('contact', contact, maxLineLength),
  ]
}

/** @param assignments such as `country=UG`. @throws UserError that names what is no field, or no value of one. */
export function parsePartnerFields(assignments: readonly string[]): PartnerFields {
  const pairs = assignments.map((text) => /^(name|country|contact)=(.*)$/s.exec(text)?.slice(1) ?? [text])
  throwProblems(
    pairs.map(([field = '', value], index) => {
      if (value === undefined) return `Write name=…, country=… or contact=…, not ${abbreviate(field)}.`
      const isFirst = pairs.findIndex(([other]) => other === field) === index
      return isFirst ? undefined : `${field}: expected one value; found a second.`
    }),
  )
  const values = new Map(pairs.map(([field = '', value = '']) => [field, value]))
  const [name, country, contact] = ['name', 'country', 'contact'].map((field) => values.get(field))
  const parsed: PartnerFields = {
    ...(name !== undefined && { name }),
    ...(country !== undefined && { country: toUpperCaseCode(country) }),
    ...(contact !== undefined && { contact: contact === 'null' ? null : contact }),
  }
  throwProblems(findFieldProblems(parsed))
  return parsed
}

/** @returns a warning when a partner of this country would see no plan. */
export async function findEmptyList(
  { db }: Store,
  { shortName, country }: Pick<Partner, 'shortName' | 'country'>,
): Promise<string | undefined> {
  if ((await countListedPlans(db, country)) > 0) return undefined
  return `No plan is viewable in ${country}: the list of ${shortName} is empty.`
}

/** Says what a partner would list in another country. @returns undefined when it is there already, or closed. */
export async function describeMove(
  { db }: Store,
  { shortName, country: from, closedAt }: Partner,
  country: string,
): Promise<string | undefined> {
  if (from === country || closedAt !== null) return undefined
  const counts = await Promise.all([from, country].map((code) => countListedPlans(db, code)))
  return `${shortName}: country ${from} → ${country}; plans on its list: ${counts.join(' → ')}.`
}

/**
 * Changes a partner, and ends or deletes KV's copy of it. When there is nothing to change, an earlier run may have stopped before
 * that: only a copy from after the newest change stays.
 *
 * - `end-tokens`: every token that was issued until now ends.
 * - `close` is for good: secrets and contact are deleted; the short name stays taken, and the history stays.
 * @param name the short name or the client ID.
 * @returns the partner before the change.
 * @throws UserError when a value is not valid, there is no such partner, it is closed, or somebody else changes it at the same time.
 */
export async function changePartner(
  store: Store,
  name: string,
  request: PartnerRequest,
  { attribution, warn }: Operator,
): Promise<Partner> {
  if (request.kind === 'set') throwProblems(findFieldProblems(request))
  const { before, copied } = await changeWithCopy(store, warn, {
    name,
    effect: outageEffects[request.kind],
    find: () => findRecordedPartner(store, name),
    change: (found) => makeRequestedChange(store, found, request, attribution),
  })
  await copied
  await cleanUp(store)
  return before
}

/**
 * Makes a new secret, and ends or deletes KV's copy of the partner.
 *
 * - `rotate`: the old one works for another `graceSeconds`.
 * - `replace-all`: every other one ends.
 * - `replace-newest`: the newest secret was lost; the older one works as long as it would have.
 * - `lockdown`, for a leak: every secret and every token ends. A suspended partner stays suspended.
 * @param name the short name or the client ID.
 * @throws UserError when there is no such partner, it is closed, its secrets don't fit, or somebody else changes it at the same time.
 */
export async function replaceSecrets(
  store: Store,
  name: string,
  replacement: SecretReplacement,
  { attribution, warn }: Operator,
): Promise<ReplacedSecrets> {
  const { before, made, copied } = await changeWithCopy(store, warn, {
    name,
    effect: outageEffects[replacement.kind],
    find: () => findRecordedPartner(store, name),
    change: (found) => makeSecretChange(store, found, replacement, attribution),
  })
  const { credentials, changedAt, tokensValidFrom } = made
  const kept = replacement.kind === 'replace-newest' ? (before.secrets[0]?.expiresAt ?? null) : null
  return {
    before,
    made: credentials,
    earlierExpiresAt: replacement.kind === 'rotate' ? changedAt + replacement.graceSeconds : kept,
    tokensValidFrom,
    copied: copied.then(() => cleanUp(store)),
  }
}

/** The schedule does it when this fails. */
async function cleanUp({ db }: Store): Promise<void> {
  await deleteLeftovers(db).catch(() => {})
}

/** A move, or a rotation with a grace period, ends no access at once. */
const outageEffects: Record<PartnerRequest['kind'] | SecretReplacement['kind'], OutageEffect> = {
  suspend: 'suspend',
  resume: 'resume',
  close: 'end',
  lockdown: 'end',
  'end-tokens': 'end',
  'replace-all': 'end',
  'replace-newest': 'end',
  rotate: 'nothing',
  set: 'nothing',
}

async function findRecordedPartner(store: Store, name: string): Promise<RecordedPartner> {
  const partner = await findPartner(store, name)
  return { partner, entries: await selectPartnerEntries(store.db, { shortName: partner.shortName }) }
}

/** @returns the entries of the partner after the change, the newest first. */
async function makeRequestedChange(
  store: Store,
  found: RecordedPartner,
  request: PartnerRequest,
  attribution: Attribution,
): Promise<Pick<RecordedPartner, 'entries'>> {
  const { name, country, shortName } = found.partner
  if (isDone(found.partner, request)) return found
  throwProblems([explainRefusal(store, found.partner, request.kind)])
  if (request.kind === 'set' && (request.seenId ?? found.partner.id) !== found.partner.id) {
    throw makeOvertakenError(store, shortName)
  }
  const row =
    request.kind === 'set'
      ? ({ name, country, ...request, kind: request.contact === undefined ? 'set' : 'set-contact' } as const)
      : request
  const made = await insertChange(store, found, row, attribution)
  if (request.kind === 'set' && request.contact !== undefined) await storeContact(store, shortName, request.contact)
  return made
}

async function makeSecretChange(
  store: Store,
  found: RecordedPartner,
  replacement: SecretReplacement,
  attribution: Attribution,
) {
  const { shortName, country, clientId } = found.partner
  throwProblems([explainRefusal(store, found.partner, replacement.kind)])
  const { clientSecret, secretHash } = await generateSecret(store)
  const made = await insertChange(store, found, { ...replacement, secretHash }, attribution)
  return { ...made, credentials: { shortName, country, clientId, clientSecret } }
}

/** @returns the entries of the partner with the new one, the newest first. */
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
  return new UserError(
    `Somebody else changed ${shortName} at the same time, so this change was not made. Check before you try again: ${see}`,
  )
}

/** What is repeated is no change: the record would name a second author. */
function isDone(partner: Partner, request: PartnerRequest): boolean {
  const { suspendedAt, closedAt } = partner
  if (request.kind === 'close') return closedAt !== null
  if (closedAt !== null) return false
  switch (request.kind) {
    case 'suspend':
      return suspendedAt !== null
    case 'resume':
      return suspendedAt === null
    case 'set':
      return (['name', 'country', 'contact'] as const).every(
        (field) => request[field] === undefined || request[field] === partner[field],
      )
    case 'end-tokens':
      return false
  }
}

/** There are at most two live secrets, and `replace-newest` ends the newest of two. */
function explainRefusal({ target }: Store, partner: Partner, kind: PartnerChange['kind']): string | undefined {
  const { shortName, closedAt, secrets } = partner
  const olderExpiresAt = secrets[0]?.expiresAt ?? null
  const partnerCommand = (...words: string[]) => describeCommand(target, 'partner', ...words)
  if (closedAt !== null) {
    return `${shortName} was closed at ${formatIsoTime(closedAt)}, for good. To onboard it again, create it under another short name: ${partnerCommand('create', '--help')}`
  }
  const rotate = (...flags: string[]) => partnerCommand('rotate', shortName, ...flags)
  if (kind === 'replace-newest' && olderExpiresAt === null) {
    return `${shortName} has only one secret. To keep it for a grace period: ${rotate()}`
  }
  if (kind === 'rotate' && olderExpiresAt !== null) {
    return [
      `${shortName} has two live secrets, and the older one works until ${formatIsoTime(olderExpiresAt)}.`,
      `If the newer one is lost, replace it: ${rotate('--replace-newest')}`,
      `To end both now: ${rotate('--grace', '0')}`,
    ].join('\n')
  }
  return undefined
}

async function generateSecret({ config }: Store) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}
