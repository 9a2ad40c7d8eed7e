// Partners and their credentials.
import { abbreviate } from '../../abbreviate.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../crypto/client-secret.ts'
import {
  changePartner as insertChange,
  createPartner as insertPartner,
  deleteLeftovers,
  setContact,
  type MadeChange,
  type PartnerChange as NextRow,
  type SecretReplacement,
} from '../../db/partner-changes.ts'
import { selectPartner, selectPartners, type LiveSecret, type Partner } from '../../db/partner-queries.ts'
import { selectPlanList } from '../../db/plan-queries.ts'
import { readPbkdf2Iterations } from '../../api/config.ts'
import { isCausedBy } from '../../db/database.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { findCountryProblem } from './country.ts'
import { formatIsoTime } from './iso-time.ts'
import { findLineProblem } from './line-problem.ts'
import { changeWithCopy, guardCopy, type CopyFate, type Warn } from './partner-copy.ts'
import { recordChange } from './recorded-change.ts'
import { throwProblems, UserError } from '../shared/user-error.ts'

export type { LiveSecret, Partner }

export type NewPartner = Pick<Partner, 'shortName' | 'name' | 'country'>

/** The secret can't be shown again: only its hash is stored. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

/** `tokensValidFrom` and `olderExpiresAt` are Unix seconds. */
export interface NewCredentials extends Credentials {
  /** Tokens that were issued earlier are refused. Null when none are. */
  tokensValidFrom: number | null
  /** When the older of two secrets ended before the replacement; null when there was only one. */
  olderExpiresAt: number | null
}

/** Who changes a partner, and hears what is left of the change. */
export interface Operator {
  attribution: Attribution
  warn: Warn
  /** Gets a new secret as soon as it is made: the copy in KV is deleted afterwards, and that can take minutes. */
  show?: (made: NewCredentials) => unknown
}

export interface PartnerChange {
  partner: Partner
  /** false when there was nothing to change. */
  isChanged: boolean
}

/** A secret is replaced once a year, also when nobody knows of a leak. */
const maxSecretAgeMs = 365 * 86_400_000

export function isRotationDue({ secrets: [oldest] }: Pick<Partner, 'secrets'>, nowMs: number): boolean {
  return oldest !== undefined && nowMs - oldest.createdAt * 1000 > maxSecretAgeMs
}

export function readPartnerStatus({ suspendedAt, closedAt }: Pick<Partner, 'suspendedAt' | 'closedAt'>): string {
  if (closedAt !== null) return 'closed'
  return suspendedAt === null ? 'active' : 'suspended'
}

/** In the order of their short names. */
export function listPartners({ read }: Store): Promise<Partner[]> {
  return selectPartners(read)
}

/** @throws UserError when there is no such partner. */
export async function findPartner({ read, target }: Store, shortName: string): Promise<Partner> {
  const partner = await selectPartner(read, shortName)
  if (partner) return partner
  const list = describeCommand(target, 'partner', 'list')
  throw new UserError(`There is no partner ${abbreviate(shortName)}. See: ${list}`)
}

/**
 * Finds a partner to change it. While the database fails, does to KV's copy what the change does, and says what remains.
 * @throws UserError when there is no such partner, or it is closed.
 */
export function findOpenPartner(store: Store, shortName: string, fate: CopyFate, warn: Warn): Promise<Partner> {
  return guardCopy(store, { shortName }, fate, warn, async () => checkOpen(store, await findPartner(store, shortName)))
}

const maxLineLength = 200

function findShortNameProblem(shortName: string): string | undefined {
  if (/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName)) return undefined
  return `The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`
}

/** @throws UserError when the new partner is not valid, or its short name is taken. */
export async function createPartner(store: Store, partner: NewPartner, attribution: Attribution): Promise<Credentials> {
  const { shortName, name, country } = partner
  throwProblems([
    findShortNameProblem(shortName),
    findLineProblem('name', name, maxLineLength),
    findCountryProblem(country),
  ])
  const clientId = generateClientId()
  const { clientSecret, secretHash } = await generateSecret(store)
  const row = { shortName, name, country, clientId, secretHash }
  try {
    await recordChange(store, attribution, (db, request) => insertPartner(db, request, row))
  } catch (error) {
    if (!isCausedBy(error, 'change_record.partner')) throw error
    const list = describeCommand(store.target, 'partner', 'list')
    throw new UserError(`The short name ${shortName} is taken. Choose another, or see: ${list}`)
  }
  return { clientId, clientSecret, shortName, country }
}

/** @returns a warning when a partner of this country would see no plan. */
export async function findEmptyList(
  { read }: Store,
  { shortName, country }: Pick<Partner, 'shortName' | 'country'>,
): Promise<string | undefined> {
  const { documents } = await selectPlanList(read, country, {})
  if (documents.length > 0) return undefined
  return `No plan is viewable in ${country}: the list of ${shortName} is empty.`
}

/**
 * Replaces client secrets, and ends or deletes KV's copy of the partner.
 *
 * - `rotate`: the old secret works for another `graceSeconds`.
 * - `replace-newest`: the newest secret was lost; the older one works as long as it would have.
 * - `lockdown`, for a leak: every secret and every token ends. A suspended partner stays suspended.
 * @throws UserError when the partner was changed since it was read, and when the replacement does not fit the secrets that
 * work: see findMisfit.
 */
export async function replaceSecret(
  store: Store,
  partner: Partner,
  replacement: SecretReplacement,
  { show, ...operator }: Operator,
): Promise<NewCredentials> {
  const { shortName, clientId, country, secrets } = partner
  const olderExpiresAt = secrets.find(({ expiresAt }) => expiresAt !== null)?.expiresAt ?? null
  throwProblems([findMisfit(store.target, partner, replacement, olderExpiresAt)])
  const { clientSecret, secretHash } = await generateSecret(store)
  return makeChange(store, partner, { ...replacement, secretHash }, operator, async ({ tokensValidFrom }) => {
    const made = { clientId, clientSecret, shortName, country, tokensValidFrom, olderExpiresAt }
    await show?.(made)
    return made
  })
}

/**
 * Inserts the next row of a partner, and ends or deletes KV's copy of it.
 * @param onMade runs in between: the copy can take minutes.
 * @throws UserError when the partner was changed since it was read.
 */
async function makeChange<T>(
  store: Store,
  partner: Partner,
  change: NextRow,
  { attribution, warn }: Operator,
  onMade: (made: MadeChange) => Promise<T>,
): Promise<T> {
  const { shortName, changeId } = partner
  const result = await changeWithCopy(store, partner, getFate(change), warn, async () => {
    const made = await recordChange(store, attribution, (db, request) => insertChange(db, request, changeId, change))
    if (made) return onMade(made)
    const see = describeCommand(store.target, 'partner', 'show', shortName)
    throw new UserError(
      `Somebody else changed ${shortName} at the same time, so this change was not made. Check before you try again: ${see}`,
    )
  })
  // The schedule does it when this fails.
  await deleteLeftovers(store.read).catch(() => {})
  return result
}

export function getFate(change: SecretReplacement | Pick<PartnerRequest, 'kind'>): CopyFate {
  switch (change.kind) {
    case 'suspend':
    case 'close':
    case 'end-tokens':
    case 'lockdown':
      return 'end'
    case 'rotate':
      return change.graceSeconds === 0 ? 'end' : 'renew'
    case 'resume':
      return 'resume'
    default:
      return 'renew'
  }
}

/** There are at most two live secrets, and `replace-newest` ends the newest of two. */
function findMisfit(
  target: Target,
  { shortName }: Partner,
  replacement: SecretReplacement,
  olderExpiresAt: number | null,
): string | undefined {
  const rotate = (...flags: string[]) => describeCommand(target, 'partner', 'rotate', shortName, ...flags)
  if (replacement.kind === 'replace-newest' && olderExpiresAt === null) {
    return `${shortName} has no older secret that would still work: --replace-newest would end the only one. To keep that one for a grace period: ${rotate()}`
  }
  if (replacement.kind === 'rotate' && olderExpiresAt !== null && replacement.graceSeconds > 0) {
    return `${shortName} has two live secrets, and the older one works until ${formatIsoTime(olderExpiresAt)}. If the newer one is lost, replace it: ${rotate('--replace-newest')}; to end both now: ${rotate('--grace', '0')}`
  }
  return undefined
}

async function generateSecret({ config }: Store) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}

/** @throws UserError when the partner is closed. */
function checkOpen({ target }: Store, partner: Partner): Partner {
  if (partner.closedAt === null) return partner
  throw new UserError(describeClosed(target, partner.shortName, partner.closedAt))
}

/** @param closedAt in Unix seconds. */
export function describeClosed(target: Target, shortName: string, closedAt: number): string {
  const create = describeCommand(target, 'partner', 'create', '--help')
  return `${shortName} was closed at ${formatIsoTime(closedAt)}, for good: its secrets and tokens have ended. To onboard it again, create it under another short name: ${create}`
}

/** A change of a partner that makes no secret. A contact of null deletes it. */
export type PartnerRequest = { partner: string } & (
  | { kind: 'suspend' | 'resume' | 'close' | 'end-tokens' }
  | { kind: 'set'; name?: string; country?: string; contact?: string | null }
)

/**
 * Changes a partner. After `suspend` and `close`, its token requests are refused, and its live tokens within `freshnessSeconds`.
 * `close` is for good: secrets and contact are deleted, the short name stays taken, and the history stays. `end-tokens` always
 * has an effect: tokens that were issued until now are refused within `freshnessSeconds`, later ones are not.
 *
 * Ends or deletes KV's copy of the partner as well, also when there is nothing to change, because an earlier run may have stopped before.
 * @throws UserError when the value is not valid, there is no such partner, it is closed, or somebody else changes it at the same
 * time.
 */
export async function changePartner(store: Store, change: PartnerRequest, operator: Operator): Promise<PartnerChange> {
  throwProblems(findValueProblems(change))
  const { warn } = operator
  const fate = getFate(change)
  const known = await guardCopy(store, { shortName: change.partner }, fate, warn, async () => {
    const found = await findPartner(store, change.partner)
    return change.kind === 'close' ? found : checkOpen(store, found)
  })
  const isChanged = hasEffect(known, change)
  if (!isChanged) await changeWithCopy(store, known, fate, warn, async () => {})
  else {
    await makeChange(store, known, change, operator, async () => {
      if (change.kind !== 'set' || change.contact === undefined) return
      await setContact(store.read, change.partner, change.contact)
    })
  }
  return { partner: isChanged ? await findPartner(store, change.partner) : known, isChanged }
}

function findValueProblems(change: PartnerRequest): (string | undefined)[] {
  if (change.kind !== 'set') return []
  const { name, country, contact = null } = change
  return [
    name === undefined ? undefined : findLineProblem('name', name, maxLineLength),
    country === undefined ? undefined : findCountryProblem(country),
    contact === null ? undefined : findLineProblem('contact', contact, maxLineLength),
  ]
}

function hasEffect(known: Partner, change: PartnerRequest): boolean {
  switch (change.kind) {
    case 'suspend':
      return known.suspendedAt === null
    case 'resume':
      return known.suspendedAt !== null
    case 'close':
      return known.closedAt === null
    case 'end-tokens':
      return true
    case 'set': {
      const { name = known.name, country = known.country, contact = known.contact } = change
      return name !== known.name || country !== known.country || contact !== known.contact
    }
  }
}
