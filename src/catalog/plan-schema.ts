// Declares the fields of a plan: its type, the rules of an import, and the fields in openapi.json and in the client come from this schema.
// The Worker imports only the types.
import { codes as listCurrencies } from 'currency-codes'
import { z } from 'zod'
import { hasHiddenCharacter, hasVisibleCharacter } from '../visible-text.ts'
import { describeCountryHint, isCountryCode } from './country-codes.ts'

/** The maximum number of digits in an amount or a return. */
export const maxDigits = 15
/** One less than MAX_SAFE_INTEGER: the filter categoryId turns larger numbers into MAX_SAFE_INTEGER, which no category has. */
const maxId = Number.MAX_SAFE_INTEGER - 1

const countryCode = z.string({ error: 'a country code' }).refine(isCountryCode, {
  error: ({ input }) => `an ISO 3166-1 alpha-2 country code in upper case, such as "KE"${describeCountryHint(input)}`,
})

/** JSON Schema can express only this part of the rule for a currency. */
const currencyPattern = '^[A-Z]{3}$'
const expectedCurrency = 'an ISO 4217 currency code in upper case, such as "KES"'
const currencies = new Set(listCurrencies())
const currencyCode = z
  .string({ error: 'a currency code' })
  .refine((text) => currencies.has(text), expectedCurrency)
  .meta({ pattern: currencyPattern })

/** Every control character except tab and line feed. */
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const controlCharacter = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

/** `expected` completes the sentence "must be …". */
type TextRule = readonly [isObeyed: (value: string) => boolean, expected: string]

/** A text has a visible character, and every JSON parser keeps it unchanged. */
const textRules: readonly TextRule[] = [
  [(value) => !controlCharacter.test(value), 'text without control characters other than tab and line feed'],
  [(value) => !value.includes('\ufffd'), 'text without U+FFFD, which stands in place of a letter that was lost'],
  [(value) => value.isWellFormed(), 'well-formed Unicode text'],
  [hasVisibleCharacter, 'text with a visible character'],
]
/** A line is a text of visible characters without a line break, such as a name that customers read. */
const lineRules: readonly TextRule[] = [
  ...textRules,
  [(value) => !hasHiddenCharacter(value), 'text without control, bidirectional and invisible characters'],
]

/** Makes the schema of a text. It reports one issue, even if the text breaks several rules. */
const text = (maxLength: number, rules = textRules) => {
  const error = `text of 1 to ${maxLength} characters`
  const lengthRule: TextRule = [(value) => value.length <= maxLength && value !== '', error]
  const findBrokenRule = (value: unknown) => [lengthRule, ...rules].find(([isObeyed]) => !isObeyed(String(value)))
  return (
    z
      .string(error)
      // Texts that look the same become equal, because filters compare texts, and plans with the same category must have equal texts.
      .normalize('NFC')
      .trim()
      .refine((value) => findBrokenRule(value) === undefined, {
        error: ({ input }) => findBrokenRule(input)?.[1],
        abort: true,
      })
      .meta({ maxLength, minLength: 1 })
  )
}

const line = (maxLength: number) => text(maxLength, lineRules)

/** The characters that RFC 3986 allows in a path, a query and a fragment. */
const urlCharacter = "[A-Za-z0-9._~:@!$&'()*+,;=/?-]|%[0-9A-Fa-f]{2}"
/** Allows no user name, because a user name can look like the host of the URL. */
const urlPattern = `^https://[A-Za-z0-9._-]+(:[0-9]+)?([/?](${urlCharacter})*)?(#(${urlCharacter})*)?$`
/** Matches the end of a host's name, but not of an IP address in any notation, or of a name without a dot. */
const publicHost = /\.(?:[a-z]{2,}|xn--[a-z0-9-]+)$/
const isPublicUrl = (url: string) => new RegExp(urlPattern).test(url) && publicHost.test(URL.parse(url)?.hostname ?? '')
const httpsUrl = line(2000)
  .refine(isPublicUrl, 'an https URL with a domain name, and without a user name, spaces and letters such as é')
  .meta({ format: 'uri', pattern: urlPattern })

/** Replaces -0 by 0, as JSON.stringify does. Otherwise a plan would change when it is stored. */
const replaceMinusZero = (value: number) => (value === 0 ? 0 : value)

const expectedInteger = `an integer from 0 to ${maxId}`
export const nonNegativeInteger = z
  .int({ error: expectedInteger, abort: true })
  .min(0, expectedInteger)
  .max(maxId, expectedInteger)
  .overwrite(replaceMinusZero)

/** Refuses a number that JavaScript writes with an exponent. Every JSON parser reads numbers of up to 15 digits exactly. */
const isShortDecimal = (value: number) =>
  /^-?[0-9.]+$/.test(String(value)) && String(value).replaceAll(/[-.]/g, '').length <= maxDigits
const expectedDecimal = `a decimal number of at most ${maxDigits} digits`

const amountsByCurrency = z.record(
  currencyCode,
  z
    .number({ error: 'a number of 0 or more' })
    .min(0, { error: 'a number of 0 or more', abort: true })
    .refine(isShortDecimal, expectedDecimal)
    .overwrite(replaceMinusZero),
  {
    error: ({ code }) =>
      code === 'invalid_key' ? expectedCurrency : 'an object of amounts by currency code, such as {"KES":1000}',
  },
)

const annualReturn = z
  .number({ error: 'a number in percent per year, or null' })
  .min(-100, { error: 'a number of -100 or more, or null', abort: true })
  .refine(isShortDecimal, expectedDecimal)
  .overwrite(replaceMinusZero)
  .nullable()

/** Declares a field: its rule, its description for partners, and an example. */
export function field<Schema extends z.ZodType>(rule: Schema, description: string, example: z.output<Schema>): Schema {
  return rule.meta({ description, examples: [example] })
}

const amounts = (description: string, example: Record<string, number>) =>
  field(amountsByCurrency, `${description} in major units, keyed by ISO 4217 currency code.`, example)

const performance = (years: string, example: number) =>
  field(annualReturn, `Annualized return over ${years} in percent per year; null if unknown.`, example)

/** Makes the schema of an object with an ID and a name, or null. */
const objectWithName = (description: string, exampleId: number, exampleName: string) =>
  z
    .strictObject(
      { id: field(nonNegativeInteger, 'Internal ID.', exampleId), name: field(line(200), 'Name.', exampleName) },
      'an object with id and name, or null',
    )
    .nullable()
    .describe(description)

/** Returns the schema inside `.nullable()` and `.default()`. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodDefault ? unwrap(schema.unwrap()) : schema
}

const expectedIdentifier =
  '1 to 100 letters, digits, dots, underscores and hyphens, starting with a letter or a digit, and not only digits'

/** An identifier has not only digits, so that a command can tell it from the ID of a plan. */
const identifier = z
  .string(expectedIdentifier)
  .max(100, { error: expectedIdentifier, abort: true })
  .regex(/^(?:[A-Za-z]|[0-9]+[A-Za-z._-])[A-Za-z0-9._-]*$/, expectedIdentifier)
const date = z.iso.date('a calendar date as YYYY-MM-DD')
const trueOrFalse = z.boolean('true or false')

/**
 * The fields of a plan, in the order in which partners get them. The examples differ, so that a test sees when two fields are mixed up. Add
 * a new field last, with `.default(value)`: older plans and catalog files lack the field, and get this value.
 */
const planShape = {
  id: field(
    nonNegativeInteger,
    'Internal plan ID. Use a 64-bit integer type for every ID; a JavaScript number holds every ID exactly.',
    101,
  ),
  identifier: field(identifier, 'Stable machine-readable identifier of the plan.', 'mwamba-money-market-fund'),
  name: field(line(200), 'Formal plan name.', 'Mwamba Money Market Fund'),
  coolName: field(line(200), 'Short friendly display name. Prefer it in your user interface.', 'Mwamba Cash'),
  about: field(text(10_000), 'Longer description.', 'Holds treasury bills and short deposits.\nPays out monthly.'),
  hint: field(text(300), 'Short marketing tagline.', 'Cash that keeps working'),
  imageUrl: field(httpsUrl, 'URL of the artwork of the plan.', 'https://images.example.com/mwamba.jpg'),
  thumbnail: field(httpsUrl, 'URL of the thumbnail of the artwork.', 'https://images.example.com/mwamba-thumb.jpg'),
  sector: field(line(200), 'Sector that the fund invests in.', 'Government securities'),
  fundType: field(line(64), 'Classification of the fund, such as MONEY_MARKET.', 'MONEY_MARKET'),
  profitType: field(line(64), 'How returns are generated, such as VARIABLE.', 'VARIABLE'),
  profitTypeDescription: field(text(2000), 'Text that explains profitType.', 'Interest is accrued daily.'),
  performance1: performance('1 year', 13.1),
  performance3: performance('3 years', 11.9),
  performance5: performance('5 years', 10.6),
  performance10: performance('10 years', 9.9),
  performanceDate: field(date, 'As-of date of the performance figures, as YYYY-MM-DD.', '2026-10-30'),
  currency: field(currencyCode, 'Base currency of the plan, ISO 4217.', 'KES'),
  minInvestableAmounts: amounts('Minimum initial investment', { KES: 1000, USD: 10 }),
  minTopUpAmounts: amounts('Minimum top-up', { KES: 500 }),
  tenor: field(line(200), 'Investment term.', 'Open-ended'),
  lockInPeriod: field(nonNegativeInteger, 'Lock-in period in days; 0 means none.', 30),
  partialWithdrawable: field(trueOrFalse, 'Whether partial withdrawals are allowed.', true),
  factSheet: field(httpsUrl, 'Link to an informational document.', 'https://docs.example.com/mwamba-facts.pdf'),
  prospectus: field(httpsUrl, 'Link to a legal document.', 'https://docs.example.com/mwamba-prospectus.pdf'),
  isInvestable: field(trueOrFalse, 'Whether the plan currently accepts new investment.', true),
  nonInvestableNote: field(text(2000).nullable(), 'Why isInvestable is false; null if it is true.', null),
  category: z
    .strictObject(
      {
        id: field(nonNegativeInteger, 'Internal ID, the value for the filter categoryId.', 701),
        name: field(line(200), 'Formal name.', 'Money Market'),
        displayName: field(line(200), 'Name for your user interface.', 'Save daily'),
        tagLine: field(text(300), 'Short marketing tagline.', 'Savings within reach.'),
      },
      'an object with id, name, displayName and tagLine, or null',
    )
    .nullable()
    .describe('Plan category.'),
  planType: objectWithName('Plan type.', 4, 'Unit Trust'),
  productRiskLevel: objectWithName('Risk rating.', 5, 'Low'),
  fundManager: objectWithName('Company that manages the fund.', 6, 'Société d’Épargne Ɔdum'),
  fundCurrency: z
    .strictObject(
      { currency: field(currencyCode, 'ISO 4217 currency code.', 'USD') },
      'an object with currency, or null',
    )
    .nullable()
    .describe('Operating currency of the fund.'),
}

/** A plan as partners see it. */
export const planSchema = z.strictObject(planShape)
export type Plan = z.infer<typeof planSchema>

/** A plan in a catalog file. In addition, it has the countries where it is viewable. */
export const catalogPlanSchema = z
  .strictObject(
    {
      ...planShape,
      viewableIn: z
        .array(countryCode, 'an array of country codes')
        .refine((countries) => new Set(countries).size === countries.length, 'an array with each country once'),
    },
    'an object',
  )
  .superRefine((plan, context) => {
    if (plan.isInvestable === (plan.nonInvestableNote === null)) return
    const message = plan.isInvestable
      ? 'null, because isInvestable is true'
      : 'text that explains why isInvestable is false'
    context.addIssue({ code: 'custom', path: ['nonInvestableNote'], message, input: plan.nonInvestableNote })
  })
export type CatalogPlan = z.infer<typeof catalogPlanSchema>
