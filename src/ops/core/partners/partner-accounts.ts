// Partners: finds, lists and creates them, and checks their fields. account-changes.ts changes them.
import { abbreviate } from '../../../abbreviate.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../../crypto/client-secret.ts'
import { insertNewPartner, setContact } from '../../../db/partner-changes.ts'
import { countListedPlans } from '../../../db/health-queries.ts'
import { selectPartner, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import { readPbkdf2Iterations } from '../../../api/config.ts'
import { isCausedBy } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { findCountryProblem, toUpperCaseCode } from '../../shared/country.ts'
import { findLineProblem } from '../../shared/line-problem.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { recordChange } from '../record/recorded-change.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { throwProblems, UserError } from '../../shared/user-error.ts'

export type { Partner }

export type NewPartner = Pick<Partner, 'shortName' | 'name' | 'country'> & { contact?: string | undefined }

/** Lets a new partner get tokens. The secret can't be read again: only its hash is stored. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

/** The fields that `partner set` changes. `contact: null` deletes the contact. */
export interface PartnerFields {
  name?: string
  country?: string
  contact?: string | null
}

/** A secret should be replaced once a year, even without a known leak. */
const maxSecretAgeMs = 365 * 86_400_000
const maxLineLength = 200

/** Returns whether the oldest secret of a partner is more than a year old. */
export function isRotationDue({ secrets: [oldest] }: Pick<Partner, 'secrets'>, nowMs: number): boolean {
  return oldest !== undefined && nowMs - oldest.createdAt * 1000 > maxSecretAgeMs
}

/** `active`, `suspended` or `ended` */
export function readPartnerStatus({ suspendedAt, endedAt }: Pick<Partner, 'suspendedAt' | 'endedAt'>): string {
  if (endedAt !== null) return 'ended'
  return suspendedAt === null ? 'active' : 'suspended'
}

/** Lists all partners, also ended ones, in the order of their short names. */
export function listPartners({ db }: Store): Promise<Partner[]> {
  return selectPartners(db)
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds Unix seconds: finds the partner as it was at the end of that second. By default as it is now.
 * @throws UserError when there is no such partner, or was none at that time.
 */
export async function findPartner({ db, target }: Store, name: string, atSeconds?: number): Promise<Partner> {
  const partner = await selectPartner(db, name, atSeconds)
  if (partner) return partner
  const [verb, when] = atSeconds === undefined ? ['is', ''] : ['was', ` at ${formatLocalTime(atSeconds)}`]
  const names = (await selectPartners(db)).map(({ shortName }) => shortName)
  const fix = suggestName(name, names) ?? `See: ${describeCommand(target, 'partner', 'list')}`
  throw new UserError([`There ${verb} no partner ${abbreviate(name)}${when}.`, fix])
}

/**
 * Creates a partner with a first secret. Checks the contact, too, but the caller stores it with `storeContact` after it has shown the
 * secret.
 * @throws UserError when a value of the new partner is not valid, or its short name is taken.
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
    throw new UserError([`The short name ${shortName} is taken. Choose another.`, `To see all partners: ${list}`])
  }
  return { shortName, country, clientId, clientSecret }
}

/** Stores the contact of a partner in a table of its own: the record, which keeps everything for ever, never has a contact. */
export async function storeContact({ db }: Store, shortName: string, contact: string | null): Promise<void> {
  await setContact(db, shortName, contact)
}

/** @returns a sentence for a short name that is not valid. */
export function findShortNameProblem(shortName: string): string | undefined {
  if (/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName)) return undefined
  return `The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`
}

/** @returns a sentence for each value that is not valid. */
export function findFieldProblems({ name, country, contact = null }: PartnerFields): (string | undefined)[] {
  return [
    name === 'null' ? 'A partner needs a name: only its contact can be null.' : undefined,
    name === undefined ? undefined : findLineProblem('name', name, maxLineLength),
    country === undefined ? undefined : findCountryProblem(country),
    contact === null ? undefined : findLineProblem('contact', contact, maxLineLength),
  ]
}

/** Parses the arguments of `partner set`, such as `country=UG`. @throws UserError that names each unknown field and each wrong value. */
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
export async function describeEmptyList(
  { db }: Store,
  { shortName, country }: Pick<Partner, 'shortName' | 'country'>,
): Promise<string | undefined> {
  if ((await countListedPlans(db, country)) > 0) return undefined
  return `No plan is viewable in ${country}: the list of ${shortName} is empty.`
}

/** Says what a partner would list in another country. @returns undefined when it is there already, or ended. */
export async function describeMove(
  { db }: Store,
  { shortName, country: from, endedAt }: Partner,
  country: string,
): Promise<string | undefined> {
  if (from === country || endedAt !== null) return undefined
  const counts = await Promise.all([from, country].map((code) => countListedPlans(db, code)))
  return `${shortName}: country ${from} → ${country}; plans on its list: ${counts.join(' → ')}.`
}

/** Makes a client secret, and the hash that the database stores of it. */
export async function generateSecret({ config }: Pick<Store, 'config'>) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}
