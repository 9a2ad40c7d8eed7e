// The one schema of a plan: its type, the rules an import has to meet, and later the OpenAPI document come from here.
// Only Node runs it; the Worker imports the types alone.
import { code as findCurrency } from 'currency-codes'
import { iso31661 } from 'iso-3166'
import { z } from 'zod'

const countryCodes = new Set(iso31661.map(({ alpha2 }) => alpha2))

export function isCountryCode(text: string): boolean {
  return countryCodes.has(text)
}

const mostDigits = 15
const largestId = Number.MAX_SAFE_INTEGER - 1

const countryCode = z
  .string({ error: 'a country code' })
  .refine(isCountryCode, 'an ISO 3166-1 alpha-2 country code in upper case, such as "KE"')

/** What a schema in JSON can say of a currency code. */
const currencyPattern = '^[A-Z]{3}$'
const isoCurrency = 'an ISO 4217 currency code in upper case, such as "KES"'
const currencyCode = z
  .string({ error: 'a currency code' })
  .refine((text) => new RegExp(currencyPattern).test(text) && findCurrency(text) !== undefined, isoCurrency)
  .meta({ pattern: currencyPattern })

/** Tab and line feed are the ones a text may hold. */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const controlCharacter = /[\u0000-\u0008\u000b-\u001f\u007f]/

/** Text that shows something, and that SQLite and every JSON parser give back unchanged. */
const text = (longest: number) => {
  const expected = `text of 1 to ${longest} characters`
  return z
    .string(expected)
    .max(longest, expected)
    .refine((value) => value.trim() !== '', expected)
    .refine((value) => !controlCharacter.test(value), 'text without control characters other than tab and line feed')
    .refine((value) => value.isWellFormed(), 'well-formed Unicode text')
    .meta({ minLength: 1 })
}

const httpsUrl = text(2000)
  .refine((value) => /^https:\/\/\S+$/.test(value) && URL.canParse(value), 'an https URL')
  .meta({
    format: 'uri',
    pattern: '^https://',
  })

const integer = `an integer from 0 to ${largestId}`
const id = z.int(integer).min(0, integer).max(largestId, integer)

/** What SQLite reads and writes exactly. No amount of money and no return has more digits. */
const isShortDecimal = (value: number) =>
  /^-?[0-9.]+$/.test(String(value)) && String(value).replaceAll(/[-.]/g, '').length <= mostDigits
const shortDecimal = `a decimal number of at most ${mostDigits} digits`

const amounts = (what: string) =>
  z
    .record(
      z
        .string()
        .refine((code) => currencyCode.safeParse(code).success, isoCurrency)
        .meta({ pattern: currencyPattern }),
      z.number({ error: 'a number of 0 or more' }).min(0, 'a number of 0 or more').refine(isShortDecimal, shortDecimal),
      {
        error: ({ code }) =>
          code === 'invalid_key' ? isoCurrency : 'an object of amounts by currency code, such as {"KES":1000}',
      },
    )
    .describe(`${what} in major units, keyed by ISO 4217 currency code.`)

const performance = (years: string) =>
  z
    .number({ error: 'a number of per cent per year, or null' })
    .min(-100, 'a number of -100 or more, or null')
    .refine(isShortDecimal, shortDecimal)
    .nullable()
    .describe(`Annualised return over ${years} in per cent per year; null where it is not known.`)

const named = (what: string) =>
  z
    .strictObject(
      { id: id.describe('Internal ID.'), name: text(200).describe('Name.') },
      { error: objectError('an object with id and name, or null') },
    )
    .nullable()
    .describe(what)

/** What JSON leaves as it is, though a terminal acts on it or shows nothing. */
const invisible = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** A value as JSON, bounded and visible, for a message. */
export function abbreviate(value: unknown): string {
  if (value === undefined) return 'nothing'
  const json = typeof value === 'number' ? String(value) : JSON.stringify(value)
  const bounded = json.length > 80 ? `${json.slice(0, 79)}…` : json
  return bounded.replaceAll(invisible, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Says which members are unknown, and else what is expected. */
function objectError(expected: string) {
  return ({ code, keys }: { code?: string; keys?: string[] }) =>
    code === 'unrecognized_keys' ? `no member ${keys?.map(abbreviate).join(', ')}` : expected
}

const planShape = {
  id: id.describe('Internal plan ID.'),
  identifier: z
    .string({ error: 'letters, digits, dots, underscores and hyphens' })
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, '1 to 100 letters, digits, dots, underscores and hyphens')
    .describe('Stable machine-readable identifier of the plan.'),
  name: text(200).describe('Formal plan name.'),
  coolName: text(200).describe('Short friendly display name, preferred in user-facing UI.'),
  about: text(10_000).describe('Longer description.'),
  hint: text(300).describe('Short marketing tagline.'),
  imageUrl: httpsUrl.describe('URL of the plan’s artwork.'),
  thumbnail: httpsUrl.describe('URL of the thumbnail of the artwork.'),
  sector: text(200).describe('Sector the fund invests in.'),
  fundType: text(64).describe('Classification of the fund, such as MONEY_MARKET.'),
  profitType: text(64).describe('How returns are generated, such as VARIABLE.'),
  profitTypeDescription: text(2000).describe('Text describing profitType.'),
  performance1: performance('1 year'),
  performance3: performance('3 years'),
  performance5: performance('5 years'),
  performance10: performance('10 years'),
  performanceDate: z.iso.date('a calendar date as YYYY-MM-DD').describe('As-of date of the performance figures.'),
  currency: currencyCode.describe('Base currency of the plan, ISO 4217.'),
  minInvestableAmounts: amounts('Minimum initial investment'),
  minTopUpAmounts: amounts('Minimum top-up'),
  tenor: text(200).describe('Investment term.'),
  lockInPeriod: id.describe('Lock-in period in days; 0 means none.'),
  partialWithdrawable: z.boolean('true or false').describe('Whether partial withdrawals are allowed.'),
  factSheet: httpsUrl.describe('Link to an informational document.'),
  prospectus: httpsUrl.describe('Link to a legal document.'),
  isInvestable: z.boolean('true or false').describe('Whether the plan currently accepts new investment.'),
  nonInvestableNote: text(2000).nullable().describe('Why isInvestable is false; null where it is true.'),
  category: z
    .strictObject(
      {
        id: id.describe('Internal ID: what the filter categoryId takes.'),
        name: text(200).describe('Formal name.'),
        displayName: text(200).describe('Name for user-facing UI.'),
        tagLine: text(300).describe('Short marketing tagline.'),
      },
      { error: objectError('an object with id, name, displayName and tagLine, or null') },
    )
    .nullable()
    .describe('Plan category.'),
  planType: named('Plan type.'),
  productRiskLevel: named('Risk rating.'),
  fundManager: named('Managing entity.'),
  fundCurrency: z
    .strictObject(
      { currency: currencyCode.describe('ISO 4217 currency code.') },
      { error: objectError('an object with currency, or null') },
    )
    .nullable()
    .describe('Operating currency of the fund.'),
}

/** A plan as partners see it, field by field in the contract's order. */
export const planSchema = z.strictObject(planShape)
export type Plan = z.infer<typeof planSchema>

/** A plan as a catalog file has it: with the countries that may see it. */
export const catalogPlanSchema = z
  .strictObject(
    {
      ...planShape,
      viewableIn: z
        .array(countryCode, 'an array of country codes')
        .refine((countries) => new Set(countries).size === countries.length, 'each country once'),
    },
    { error: objectError('an object') },
  )
  .superRefine((plan, context) => {
    if (plan.isInvestable === (plan.nonInvestableNote === null)) return
    const message = plan.isInvestable
      ? 'null, as isInvestable is true'
      : 'a text that explains why isInvestable is false'
    context.addIssue({ code: 'custom', path: ['nonInvestableNote'], message, input: plan.nonInvestableNote })
  })
export type CatalogPlan = z.infer<typeof catalogPlanSchema>
