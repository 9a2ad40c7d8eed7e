// Partners and their credentials.
import { abbreviate } from '../../catalog/plan-schema.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../crypto/client-secret.ts'
import type { Statement } from '../../db/database.ts'
import {
  insertPartnerStatements,
  isSecretStored,
  rotateSecretStatements,
  selectLiveSecrets,
  selectPartner,
  selectPartners,
  updateCountryStatement,
  updateSuspensionStatement,
  type Partner,
} from '../../db/partner-queries.ts'
import { readPbkdf2Iterations } from '../../worker/config.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { checkCountry, findCountryProblem } from './country.ts'
import { formatIsoTime } from './iso-time.ts'
import { deletePartnerCopy, type Warn } from './partner-copy.ts'
import { isCausedBy, UserError } from './user-error.ts'

export type { Partner }

export interface NewPartner {
  shortName: string
  name: string
  country: string
}

/** The secret can't be shown again: only its hash is stored. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

/** Times are Unix seconds. */
export interface LiveSecret {
  createdAt: number
  /** null while the secret is the current one. */
  expiresAt: number | null
}

export type PartnerStatus = 'active' | 'suspended'

export interface PartnerChange {
  partner: Partner
  /** false when there was nothing to change. */
  isChanged: boolean
}

export function readPartnerStatus({ suspendedAt }: Pick<Partner, 'suspendedAt'>): PartnerStatus {
  return suspendedAt === null ? 'active' : 'suspended'
}

/** In the order of their short names. */
export function listPartners({ db }: Store): Promise<Partner[]> {
  return selectPartners(db)
}

/** @throws UserError when there is no such partner. */
export async function findPartner({ db, target }: Store, shortName: string): Promise<Partner> {
  const partner = await selectPartner(db, shortName)
  if (partner) return partner
  const list = describeCommand(target, 'partner', 'list')
  throw new UserError(`There is no partner ${abbreviate(shortName)}. See: ${list}`)
}

/** The secrets that still work, the oldest first. */
export function listLiveSecrets({ db }: Store, { clientId }: Partner, nowSeconds: number): Promise<LiveSecret[]> {
  return selectLiveSecrets(db, clientId, nowSeconds)
}

/** @throws UserError that names everything wrong with the new partner. */
export function checkNewPartner({ shortName, name, country }: NewPartner): void {
  const problems = [
    !/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName) &&
      `The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`,
    // Only characters that a terminal shows on one line.
    !/^[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,198}[^\s\p{C}])?$/u.test(name) &&
      `The name must be 1 to 200 visible characters on one line; it is ${abbreviate(name)}.`,
    findCountryProblem(country),
  ].filter((problem) => typeof problem === 'string')
  if (problems.length > 0) throw new UserError(problems)
}

/** @throws UserError when the new partner is not valid, or its short name is taken. */
export async function createPartner(store: Store, partner: NewPartner, nowSeconds: number): Promise<Credentials> {
  checkNewPartner(partner)
  const { shortName, name, country } = partner
  const clientId = generateClientId()
  const { clientSecret, secretHash } = await generateSecret(store)
  const row = { shortName, name, country, clientId, secretHash, nowSeconds }
  try {
    await writeSecret(store, insertPartnerStatements(store.db, row), secretHash)
  } catch (error) {
    if (!isCausedBy(error, 'partners.short_name')) throw error
    const list = describeCommand(store.target, 'partner', 'list')
    throw new UserError(`The short name ${shortName} is taken. Choose another, or see: ${list}`)
  }
  return { clientId, clientSecret, shortName, country }
}

/**
 * Replaces the client secret. The old one works for another `graceSeconds`.
 * @throws UserError when the grace period of an earlier rotation has not ended, unless `graceSeconds` is 0.
 */
export async function rotateSecret(
  store: Store,
  partner: Partner,
  { graceSeconds, nowSeconds }: { graceSeconds: number; nowSeconds: number },
): Promise<Credentials> {
  const { shortName, clientId, country } = partner
  const secrets = await listLiveSecrets(store, partner, nowSeconds)
  const rotated = secrets.find(({ expiresAt }) => expiresAt !== null)
  if (rotated && graceSeconds > 0) {
    const fix = describeCommand(store.target, 'partner', 'rotate', shortName, '--grace', '0')
    throw new UserError(
      `${shortName} has two live secrets until ${formatIsoTime(rotated.expiresAt ?? 0)}, when the grace period of its last rotation ends. Wait for that, or end both now: ${fix}`,
    )
  }
  const { clientSecret, secretHash } = await generateSecret(store)
  const statements = rotateSecretStatements(store.db, { clientId, secretHash, nowSeconds, graceSeconds })
  try {
    await writeSecret(store, statements, secretHash)
  } catch (error) {
    if (!isCausedBy(error, 'two live secrets')) throw error
    const show = describeCommand(store.target, 'partner', 'show', shortName)
    throw new UserError(`Somebody else rotated ${shortName} at the same time. Check before you try again: ${show}`)
  }
  return { clientId, clientSecret, shortName, country }
}

async function generateSecret({ config }: Store) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}

/** When the answer to a write is lost, checks whether the secret is stored: it can't be shown again later. */
async function writeSecret({ db, write }: Store, statements: Statement[], secretHash: string): Promise<void> {
  try {
    await write(statements)
  } catch (error) {
    if (!(await isSecretStored(db, secretHash).catch(() => false))) throw error
  }
}

/** Refuses the partner's token requests, and its live tokens within two minutes. */
export function suspendPartner(
  store: Store,
  shortName: string,
  nowSeconds: number,
  warn: Warn,
): Promise<PartnerChange> {
  return changePartner(store, shortName, warn, (known) => {
    if (known.suspendedAt !== null) return undefined
    return {
      partner: { ...known, suspendedAt: nowSeconds },
      statement: updateSuspensionStatement(store.db, known.clientId, nowSeconds),
    }
  })
}

export function resumePartner(store: Store, shortName: string, warn: Warn): Promise<PartnerChange> {
  return changePartner(store, shortName, warn, (known) => {
    if (known.suspendedAt === null) return undefined
    return {
      partner: { ...known, suspendedAt: null },
      statement: updateSuspensionStatement(store.db, known.clientId, null),
    }
  })
}

/** Sets the country whose plans a partner lists. */
export async function setPartnerCountry(
  store: Store,
  shortName: string,
  country: string,
  warn: Warn,
): Promise<PartnerChange> {
  checkCountry(country)
  return changePartner(store, shortName, warn, (known) => {
    if (known.country === country) return undefined
    return { partner: { ...known, country }, statement: updateCountryStatement(store.db, known.clientId, country) }
  })
}

/**
 * Deletes KV's copy of the partner as well, so that it does not outlive a suspension. It also does so when the write fails,
 * because it may have taken effect, and when there is nothing to change, because an earlier run may have stopped before.
 * @param decide returns undefined when there is nothing to change.
 */
async function changePartner(
  store: Store,
  shortName: string,
  warn: Warn,
  decide: (known: Partner) => { partner: Partner; statement: Statement } | undefined,
): Promise<PartnerChange> {
  const known = await findPartner(store, shortName)
  const decision = decide(known)
  try {
    if (decision === undefined) return { partner: known, isChanged: false }
    await store.write([decision.statement])
    return { partner: decision.partner, isChanged: true }
  } finally {
    await deletePartnerCopy(store, known.clientId, warn)
  }
}
