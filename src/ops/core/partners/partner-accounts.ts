// Finds, lists and creates partners, and checks their fields. account-changes.ts changes partners.
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
import { describeCountryProblem, toUpperCaseCode } from '../../shared/country.ts'
import { describeLineProblem } from '../../shared/line-problem.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { recordChange } from '../record/recorded-change.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { throwProblems, UserError } from '../../shared/user-error.ts'

export type { Partner }

export type NewPartner = Pick<Partner, 'shortName' | 'name' | 'country'> & { contact?: string | undefined }

/** A partner gets tokens with these credentials. The secret can't be read again: only its hash is stored. */
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

/** True if the oldest secret of a partner is more than a year old. */
export function isRotationDue({ secrets }: Pick<Partner, 'secrets'>, nowMs: number): boolean {
  const [oldest] = secrets
  return oldest !== undefined && nowMs - oldest.createdAt * 1000 > maxSecretAgeMs
}

export function readPartnerStatus({ suspendedAt, endedAt }: Pick<Partner, 'suspendedAt' | 'endedAt'>) {
  if (endedAt !== null) return 'ended'
  return suspendedAt === null ? 'active' : 'suspended'
}

/** Lists all partners, also those that have ended, by short name. */
export function listPartners({ db }: Store): Promise<Partner[]> {
  return selectPartners(db)
}

/**
 * @param name the short name or the client ID.
 * @param atSeconds finds the partner as it was at the end of this Unix second. By default as it is now.
 * @throws UserError when there is no such partner, or was none at that time.
 */
export async function requirePartner({ db, target }: Store, name: string, atSeconds?: number): Promise<Partner> {
  const partner = await selectPartner(db, name, atSeconds)
  if (partner) return partner
  const [verb, when] = atSeconds === undefined ? ['is', ''] : ['was', ` at ${formatLocalTime(atSeconds)}`]
  const names = (await selectPartners(db)).map(({ shortName }) => shortName)
  const fix = suggestName(name, names) ?? `See: ${describeCommand(target, 'partner', 'list')}`
  throw new UserError([`There ${verb} no partner ${abbreviate(name)}${when}.`, fix])
}

/** Does not store the contact: the caller shows the secret, then calls `storeContact`. An empty contact means no contact. @throws UserError for a wrong value or a taken name. ConfigError as `generateSecret`. */
export async function createPartner(
  store: Store,
  { contact, ...partner }: NewPartner,
  attribution: Attribution,
): Promise<Credentials> {
  const { shortName, name, country } = partner
  throwProblems([
    describeShortNameProblem(shortName),
    ...describeFieldProblems({ name, country, contact: contact || null }),
  ])
  const clientId = generateClientId()
  const { clientSecret, secretHash } = await generateSecret(store)
  const row = { ...partner, clientId, secretHash }
  try {
    await recordChange(store, attribution, (db, request) => insertNewPartner(db, request, row))
  } catch (error) {
    if (!isCausedBy(error, /change_record\.partner/)) throw error
    const listAdvice = `To see all partners: ${describeCommand(store.target, 'partner', 'list')}`
    throw new UserError([`The short name ${shortName} is taken. Choose another.`, listAdvice])
  }
  return { shortName, country, clientId, clientSecret }
}

/** Stores a contact, without checking it. Deletes the contact if `contact` is null. Changes nothing for an unknown partner or one that has ended. */
export async function storeContact({ db }: Store, shortName: string, contact: string | null): Promise<void> {
  await setContact(db, shortName, contact)
}

export function describeShortNameProblem(shortName: string): string | undefined {
  if (/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName)) return undefined
  return `The short name must be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`
}

/** @returns an item for each rule: a sentence if a given field breaks the rule, otherwise undefined. `contact: null` breaks none. */
export function describeFieldProblems({ name, country, contact = null }: PartnerFields): (string | undefined)[] {
  return [
    name === 'null' ? 'A partner needs a name: only its contact can be null.' : undefined,
    name === undefined ? undefined : describeLineProblem('name', name, maxLineLength),
    country === undefined ? undefined : describeCountryProblem(country),
    contact === null ? undefined : describeLineProblem('contact', contact, maxLineLength),
  ]
}

/** Parses the arguments of `partner set`, such as `country=UG`. @throws UserError that names each unknown field and each wrong value. */
export function parsePartnerFields(assignments: readonly string[]): PartnerFields {
  const fields: PartnerFields = {}
  const problems: string[] = []
  for (const text of assignments) {
    const [, field, value] = /^(name|country|contact)=(.*)$/s.exec(text) ?? []
    if (field === undefined || value === undefined) {
      problems.push(`Write name=…, country=… or contact=…, not ${abbreviate(text)}.`)
    } else if (field in fields) problems.push(`${field}: expected one value; found a second.`)
    else if (field === 'contact') fields.contact = value === 'null' ? null : value
    else if (field === 'country') fields.country = toUpperCaseCode(value)
    else fields.name = value
  }
  throwProblems([...problems, ...describeFieldProblems(fields)])
  return fields
}

/** @returns a warning if the partner lists no plan; otherwise undefined. */
export async function describeEmptyList(
  { db }: Store,
  { shortName, country }: Pick<Partner, 'shortName' | 'country'>,
): Promise<string | undefined> {
  if ((await countListedPlans(db, country)) > 0) return undefined
  return `No plan is viewable in ${country}: the list of ${shortName} is empty.`
}

/** Describes a move to another country. @returns undefined when the partner already has this country, or has ended. */
export async function describeMove(
  { db }: Store,
  { shortName, country, endedAt }: Partner,
  newCountry: string,
): Promise<string | undefined> {
  if (country === newCountry || endedAt !== null) return undefined
  const countries = [country, newCountry]
  const counts = await Promise.all(countries.map((code) => countListedPlans(db, code)))
  return `${shortName}: country ${countries.join(' → ')}; plans on its list: ${counts.join(' → ')}.`
}

/** Generates a client secret, and the hash to store. @throws ConfigError when PBKDF2_ITERATIONS is wrong. */
export async function generateSecret({ config }: Pick<Store, 'config'>) {
  const clientSecret = generateClientSecret()
  return { clientSecret, secretHash: await hashSecret(clientSecret, readPbkdf2Iterations(config)) }
}
