// Partners and their credentials.
import { abbreviate } from '../../abbreviate.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../crypto/client-secret.ts'
import type { ChangeRequest, SecretReplacement } from '../../db/change-request.ts'
import {
  selectLiveSecrets,
  selectPartner,
  selectPartners,
  type LiveSecret,
  type Partner,
  type PartnerSummary,
} from '../../db/partner-queries.ts'
import { hasViewablePlan } from '../../db/plan-queries.ts'
import { readPbkdf2Iterations } from '../../api/config.ts'
import { isCausedBy } from '../../db/database.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { findCountryProblem } from './country.ts'
import { formatIsoTime } from './iso-time.ts'
import { findLineProblem } from './line-problem.ts'
import { changeWithoutCopy, deleteCopyOnFailure, type Warn, patienceMs } from './partner-copy.ts'
import { writeRecorded } from './recorded-change.ts'
import { throwProblems, UserError } from '../shared/user-error.ts'

export type { LiveSecret, Partner, PartnerSummary }

export type NewPartner = Pick<Partner, 'shortName' | 'name' | 'country'>

/** The secret can't be shown again: only its hash is stored. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

type PartnerStatus = 'active' | 'suspended' | 'closed'

/** Who changes a partner, and hears what is left of the change. */
export interface Operator<Shown = Credentials> {
  attribution: Attribution
  warn: Warn
  /** Gets a new secret as soon as it is made: the copy in KV is deleted afterwards, and that can take minutes. */
  show?: (made: Shown) => unknown
}

/** `tokensValidFrom` is null when the database did not say it. */
export type LockedDown = Credentials & Pick<Partner, 'tokensValidFrom'>

export interface PartnerChange {
  partner: Partner
  /** false when there was nothing to change. */
  isChanged: boolean
}

/** A secret is replaced once a year, also when nobody knows of a leak. */
const maxSecretAgeMs = 365 * 86_400_000

export function isRotationDue({ oldestSecretAt }: Pick<PartnerSummary, 'oldestSecretAt'>, nowMs: number): boolean {
  return oldestSecretAt !== null && nowMs - oldestSecretAt * 1000 > maxSecretAgeMs
}

export function readPartnerStatus({ suspendedAt, closedAt }: Pick<Partner, 'suspendedAt' | 'closedAt'>): PartnerStatus {
  if (closedAt !== null) return 'closed'
  return suspendedAt === null ? 'active' : 'suspended'
}

/** In the order of their short names. */
export function listPartners({ read }: Store): Promise<PartnerSummary[]> {
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
 * Finds a partner to change it. While the database fails, deletes KV's copy of the partner, and says what remains.
 * @throws UserError when there is no such partner.
 */
export function findPartnerToChange(store: Store, shortName: string, warn: Warn): Promise<Partner> {
  return deleteCopyOnFailure(store, { shortName }, warn, () => findPartner(store, shortName))
}

/** The secrets that still work, the oldest first. */
export function listLiveSecrets({ read }: Store, { clientId }: Partner): Promise<LiveSecret[]> {
  return selectLiveSecrets(read, clientId)
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
  try {
    const request = { kind: 'create', partner: shortName, name, country, clientId, secretHash } as const
    await writeRecorded(store, attribution, async () => request)
  } catch (error) {
    if (!isCausedBy(error, 'partners.short_name')) throw error
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
  if (await hasViewablePlan(read, country)) return undefined
  return `No plan is viewable in ${country}: the list of ${shortName} is empty.`
}

/**
 * Replaces the client secret. The old one works for another `graceSeconds`.
 * @throws UserError when the grace period of an earlier rotation has not ended, unless `graceSeconds` is 0.
 */
export function rotateSecret(
  store: Store,
  partner: Partner,
  graceSeconds: number,
  operator: Operator,
): Promise<Credentials> {
  const { shortName } = partner
  return replaceSecret(store, partner, operator, (older) => {
    if (older !== null && graceSeconds > 0) {
      const rotate = (...flags: string[]) => describeCommand(store.target, 'partner', 'rotate', shortName, ...flags)
      throw new UserError(
        `${shortName} has two live secrets, and the older one works until ${formatIsoTime(older)}. If the newer one is lost, replace it: ${rotate('--replace-newest')}; to end both now: ${rotate('--grace', '0')}`,
      )
    }
    return { kind: 'rotate', graceSeconds }
  })
}

/**
 * Replaces a new secret that was lost while the older one still works. The older one keeps its expiry.
 * @returns the credentials, and when the older secret ends, in Unix seconds.
 * @throws UserError when the partner has only one live secret.
 */
export async function replaceNewestSecret(
  store: Store,
  partner: Partner,
  operator: Operator,
): Promise<Credentials & { olderExpiresAt: number }> {
  const { shortName } = partner
  let olderExpiresAt = 0
  const credentials = await replaceSecret(store, partner, operator, (older) => {
    if (older === null) {
      const rotate = describeCommand(store.target, 'partner', 'rotate', shortName)
      throw new UserError(
        `${shortName} has no older secret that would still work: --replace-newest would end the only one. To keep that one for a grace period: ${rotate}`,
      )
    }
    olderExpiresAt = older
    return { kind: 'replace-newest' }
  })
  return { ...credentials, olderExpiresAt }
}

/**
 * For a leak: ends every secret and every token of a partner, and makes a new secret. A suspended partner stays suspended.
 * @returns the credentials, and the Unix second from which tokens are valid; null when it can't be read.
 * @throws UserError when the partner is closed.
 */
export async function lockDownPartner(
  store: Store,
  partner: Partner,
  operator: Operator<LockedDown>,
): Promise<LockedDown> {
  let tokensValidFrom: number | null = null
  const show = async (made: Credentials) => {
    const changed = await readWithin(patienceMs, findPartner(store, partner.shortName))
    tokensValidFrom = changed?.tokensValidFrom ?? null
    operator.show?.({ ...made, tokensValidFrom })
  }
  const credentials = await replaceSecret(store, partner, { ...operator, show }, () => ({ kind: 'lockdown' }))
  return { ...credentials, tokensValidFrom }
}

/** @returns undefined when the read fails or takes longer: a secret that was made must be shown all the same. */
function readWithin<T>(ms: number, read: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms)
    void read.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer))
  })
}

/** @param decide gets the expiry of the older secret while there are two live ones, in Unix seconds; otherwise null. */
function replaceSecret(
  store: Store,
  partner: Partner,
  { attribution, warn, show: showSecret }: Operator,
  decide: (olderExpiresAt: number | null) => SecretReplacement,
): Promise<Credentials> {
  const { shortName, clientId, country } = partner
  return changeWithoutCopy(store, partner, warn, async () => {
    checkOpen(store, partner)
    const before = await listLiveSecrets(store, partner)
    const change = decide(before.find(({ expiresAt }) => expiresAt !== null)?.expiresAt ?? null)
    const { clientSecret, secretHash } = await generateSecret(store)
    await writeRecorded(store, attribution, async () => {
      const latest = (await listLiveSecrets(store, partner)).at(-1)
      if (latest?.id !== before.at(-1)?.id) {
        const show = describeCommand(store.target, 'partner', 'show', shortName)
        throw new UserError(`Somebody else rotated ${shortName} at the same time. Check before you try again: ${show}`)
      }
      checkOpen(store, await findPartner(store, shortName))
      return { ...change, partner: shortName, secretHash }
    })
    const credentials = { clientId, clientSecret, shortName, country }
    await showSecret?.(credentials)
    return credentials
  })
}

async function generateSecret({ config }: Store) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}

/** @throws UserError when the partner is closed. */
export function checkOpen({ target }: Store, partner: Partner): void {
  if (partner.closedAt !== null) throw new UserError(describeClosed(target, partner.shortName, partner.closedAt))
}

/** @param closedAt in Unix seconds. */
export function describeClosed(target: Target, shortName: string, closedAt: number): string {
  const create = describeCommand(target, 'partner', 'create', '--help')
  return `${shortName} was closed at ${formatIsoTime(closedAt)}, for good: its secrets and tokens have ended. To onboard it again, create it under another short name: ${create}`
}

/** A change of a partner that makes no secret. */
export type PartnerRequest = Extract<
  ChangeRequest,
  { kind: 'suspend' | 'resume' | 'close' | 'end-tokens' | 'set-country' | 'rename' | 'set-contact' }
>

/**
 * Changes a partner. After `suspend` and `close`, its token requests are refused, and its live tokens within two minutes.
 * `close` is for good: secrets and contact are deleted, the short name stays taken, and the history stays. `end-tokens` always
 * has an effect: tokens that were issued until now are refused within two minutes, later ones are not.
 *
 * Deletes KV's copy of the partner as well, also when there is nothing to change, because an earlier run may have stopped before.
 * `rename` and `set-contact` leave it: it holds neither.
 * @throws UserError when the value is not valid, there is no such partner, or it is closed.
 */
export async function changePartner(
  store: Store,
  change: PartnerRequest,
  { attribution, warn }: Operator,
): Promise<PartnerChange> {
  throwProblems([findValueProblem(change)])
  const { kind, partner: shortName } = change
  const write = () =>
    writeRecorded(store, attribution, async () => {
      const known = await findPartner(store, shortName)
      if (kind !== 'close') checkOpen(store, known)
      return hasEffect(known, change) ? change : undefined
    })
  const isChanged =
    kind === 'rename' || kind === 'set-contact'
      ? await write()
      : await changeWithoutCopy(store, await findPartnerToChange(store, shortName, warn), warn, write)
  return { partner: await readBack(store, shortName, isChanged), isChanged }
}

function findValueProblem(change: PartnerRequest): string | undefined {
  if (change.kind === 'set-country') return findCountryProblem(change.country)
  if (change.kind === 'rename') return findLineProblem('name', change.name, maxLineLength)
  if (change.kind !== 'set-contact' || change.contact === null) return undefined
  return findLineProblem('contact', change.contact, maxLineLength)
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
    case 'set-country':
      return known.country !== change.country
    case 'rename':
      return known.name !== change.name
    case 'set-contact':
      return known.contact !== change.contact
  }
}

/** D1's clock decides the time of a suspension. */
async function readBack(store: Store, shortName: string, isChanged: boolean): Promise<Partner> {
  try {
    return await findPartner(store, shortName)
  } catch (error) {
    if (!isChanged) throw error
    const show = describeCommand(store.target, 'partner', 'show', shortName)
    throw new UserError(`${shortName} was changed, but could not be read afterwards. See: ${show}`)
  }
}
