import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatCatalog, parseCatalog } from '../../src/catalog/catalog-file.ts'
import { arbitraryCatalog, makePlan } from '../support/make-plan.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }

const parse = (...plans: unknown[]) => parseCatalog(JSON.stringify({ plans }))

test('reads a written catalog back unchanged', () => {
  fc.assert(
    fc.property(arbitraryCatalog, (plans) => {
      expect(parseCatalog(formatCatalog(plans))).toEqual({ kind: 'catalog', plans })
    }),
  )
})

test('reads back where an exported file comes from, which is written first', () => {
  const origin = fc.record({
    catalog: fc.stringMatching(/^[0-9a-f]{16}$/),
    revision: fc.nat(Number.MAX_SAFE_INTEGER - 1),
  })
  const source = fc.record({ origin, country: fc.constantFrom('KE', 'RW') }, { requiredKeys: [] })
  fc.assert(
    fc.property(arbitraryCatalog, source, (plans, from) => {
      expect(parseCatalog(formatCatalog(plans, from))).toEqual({ kind: 'catalog', plans, ...from })
    }),
  )
  const text = formatCatalog([], { origin: { catalog: '0123456789abcdef', revision: 7 }, country: 'KE' })
  expect(text).toBe(`{
  "catalog": "0123456789abcdef",
  "revision": 7,
  "country": "KE",
  "plans": []
}
`)
})

test('a plan may be taken off the list of the country that the file is limited to', () => {
  const plans = [makePlan({ viewableIn: ['UG'] })]
  expect(parseCatalog(formatCatalog(plans, { country: 'KE' }))).toEqual({ kind: 'catalog', plans, country: 'KE' })
})

test('names every defect of the file itself, before those of its plans', () => {
  const text = JSON.stringify({ catalog: 'XYZ', revision: -1, country: 'ke', more: 1, plans: [null] })
  expect(parseCatalog(text)).toEqual({
    kind: 'invalid',
    defects: [
      'The file: catalog: expected 16 hexadecimal digits in lower case; found "XYZ".',
      'The file: revision: expected an integer from 0 to 9007199254740990; found -1.',
      'The file: country: expected an ISO 3166-1 alpha-2 country code in upper case, such as "KE"; found "ke".',
      'The file: unknown field "more".',
      'Plan number 1: expected an object; found null.',
    ],
  })
})

test('refuses a file that is nested too deeply', () => {
  const result = parseCatalog(`{"plans":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
  expect(result).toEqual({ kind: 'invalid', defects: ['The file is not JSON: it is nested too deeply'] })
})

test('refuses any text that is not a catalog', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseCatalog(text).kind).toBe('invalid')
    }),
  )
})

test('refuses a plan with any value in any field, or reads it back unchanged', () => {
  const plan = makePlan()
  const place = fc.constantFrom(...Object.keys(plan), 'another')
  const value = fc.oneof(fc.constantFrom(...naughtyStrings), fc.jsonValue(), fc.double(), fc.maxSafeInteger())
  fc.assert(
    fc.property(fc.dictionary(place, value, { minKeys: 1, maxKeys: 3 }), (replaced) => {
      const result = parse({ ...plan, ...replaced })
      const plans = result.kind === 'catalog' ? result.plans : []
      expect(parseCatalog(formatCatalog(plans))).toEqual({ kind: 'catalog', plans })
      const defects = result.kind === 'invalid' ? result.defects : []
      const isExpected = (line: string) =>
        /^Plan .*: (.*expected .*; found .*|.*unknown field .*)\.$/.test(line) || line.endsWith('named "__proto__"')
      expect(defects.filter((line) => !isExpected(line))).toEqual([])
    }),
  )
})

test.each([
  ['', /^The file is not JSON: line 1, column 1: expected a value; found the end\.$/],
  ['{"plans":', /^The file is not JSON: line 1, column 10: expected a value; found the end\.$/],
  ['{\n  "plans": [],\n}', /^The file is not JSON: line 3, column 1: expected a name in double quotes; found "}"\.$/],
  ['{"plans":[“x”]}', /^The file is not JSON: line 1, column 11: expected a value; found "“"\.$/],
  ['{"plans":[34],"plans":[]}', /^The file: plans is there twice; the second is at line 1, column 15\.$/],
  ['{"plans":[{"a":1,"a":1}],"plans":[]}', /^The file: plans is there twice; the second is at line 1, column 26\.$/],
  ['null', /^The file: expected a JSON object with an array "plans"; found null\.$/],
  ['[]', /^The file: expected a JSON object with an array "plans"; found \[\]\.$/],
  ['{}', /^The file: plans: expected an array of plans; found nothing\.$/],
  ['{"plans":{}}', /^The file: plans: expected an array of plans; found \{\}\.$/],
  ['{"plans":[],"more":1}', /^The file: unknown field "more"\.$/],
  [
    '{"plans":[],"revision":1}',
    /^The file: catalog: expected a value, because the file has a revision; found nothing\.$/,
  ],
  [
    '{"plans":[],"catalog":"0123456789abcdef"}',
    /^The file: revision: expected a value, because the file has a catalog; /,
  ],
  ['{"plans":[{"__proto__":{}}]}', /^The file is not JSON: it has a member named "__proto__"$/],
])('refuses %j', (text, defect) => {
  expect(parseCatalog(text)).toEqual({ kind: 'invalid', defects: [expect.stringMatching(defect)] })
})

test('a member that a plan has twice is a defect of this plan, also when the last value is valid', () => {
  const text = JSON.stringify({ plans: [makePlan(), makePlan({ id: 2, identifier: 'second' })] }, null, 1)
  const last = text.lastIndexOf('"minTopUpAmounts"')
  const repeated = `${text.slice(0, last)}"minTopUpAmounts": {"KES": 1,\n"KES": 2},\n${text.slice(last)}`
  const line = repeated.slice(0, last).split('\n').length
  expect(parseCatalog(repeated)).toEqual({
    kind: 'invalid',
    defects: [
      `Plan "second": minTopUpAmounts.KES is there twice; the second is at line ${line + 1}, column 1.`,
      `Plan "second": minTopUpAmounts is there twice; the second is at line ${line + 2}, column 1.`,
    ],
  })
})

test('a field has one defect, whatever its value', () => {
  const plan = makePlan()
  // Each wrong currency of an amount is a defect of its own.
  const place = fc.constantFrom(...Object.keys(plan).filter((name) => !name.endsWith('Amounts')))
  const value = fc.oneof(fc.constantFrom(...naughtyStrings), fc.jsonValue(), fc.constantFrom('', ' ', '\u009b'))
  fc.assert(
    fc.property(place, value, (name, replaced) => {
      const result = parse({ ...plan, [name]: replaced })
      const defects = result.kind === 'invalid' ? result.defects : []
      const places = defects.map((line) => /^.*?: (.*?)(?: expected|$)/.exec(line)?.[1])
      expect(new Set(places).size).toBe(defects.length)
    }),
    // Each case parses a file: 20,000 of them would take a minute.
    { numRuns: 300 },
  )
})

describe('a defect names the plan, the field, the expected and the found value', () => {
  const { name: _name, ...nameless } = makePlan()
  const cases: [plan: unknown, defect: string][] = [
    [nameless, 'Plan "plan-1": name: expected text of 1 to 200 characters; found nothing.'],
    [{ ...makePlan(), id: '1' }, 'Plan "plan-1": id: expected an integer from 0 to 9007199254740990; found "1".'],
    [
      { ...makePlan(), identifier: 7 },
      'Plan number 1: identifier: expected 1 to 100 letters, digits, dots, underscores and hyphens, starting with a letter or a digit; found 7.',
    ],
    [{ ...makePlan(), prospectus: '' }, 'Plan "plan-1": prospectus: expected text of 1 to 2000 characters; found "".'],
    [
      { ...makePlan(), name: '\u200b\ufeff' },
      'Plan "plan-1": name: expected text with a visible character; found "\\u200b\\ufeff".',
    ],
    [
      { ...makePlan(), nonInvestableNote: 'C1: \u009b31m', isInvestable: false },
      'Plan "plan-1": nonInvestableNote: expected text without control characters other than tab and line feed; found "C1: \\u009b31m".',
    ],
    [{ ...makePlan(), hint: '' }, 'Plan "plan-1": hint: expected text of 1 to 300 characters; found "".'],
    [
      { ...makePlan(), about: 'a\0' },
      'Plan "plan-1": about: expected text without control characters other than tab and line feed; found "a\\u0000".',
    ],
    [{ ...makePlan(), about: '\ud800' }, 'Plan "plan-1": about: expected well-formed Unicode text; found "\\ud800".'],
    [{ ...makePlan(), imageUrl: 'http://x' }, 'Plan "plan-1": imageUrl: expected an https URL; found "http://x".'],
    [
      { ...makePlan(), performance1: '13%' },
      'Plan "plan-1": performance1: expected a number in percent per year, or null; found "13%".',
    ],
    [
      { ...makePlan(), performanceDate: '2026-02-29' },
      'Plan "plan-1": performanceDate: expected a calendar date as YYYY-MM-DD; found "2026-02-29".',
    ],
    [
      { ...makePlan(), currency: 'kes' },
      'Plan "plan-1": currency: expected an ISO 4217 currency code in upper case, such as "KES"; found "kes".',
    ],
    [
      { ...makePlan(), currency: 'ZZZ' },
      'Plan "plan-1": currency: expected an ISO 4217 currency code in upper case, such as "KES"; found "ZZZ".',
    ],
    [
      { ...makePlan(), minTopUpAmounts: { KES: -1 } },
      'Plan "plan-1": minTopUpAmounts.KES: expected a number of 0 or more; found -1.',
    ],
    [
      { ...makePlan(), minTopUpAmounts: { KSH: 1 } },
      'Plan "plan-1": minTopUpAmounts: expected an ISO 4217 currency code in upper case, such as "KES"; found "KSH".',
    ],
    [
      { ...makePlan(), minTopUpAmounts: { KES: 0.1 + 0.2 } },
      'Plan "plan-1": minTopUpAmounts.KES: expected a decimal number of at most 15 digits; found 0.30000000000000004.',
    ],
    [
      { ...makePlan(), lockInPeriod: 0.5 },
      'Plan "plan-1": lockInPeriod: expected an integer from 0 to 9007199254740990; found 0.5.',
    ],
    [{ ...makePlan(), isInvestable: 'yes' }, 'Plan "plan-1": isInvestable: expected true or false; found "yes".'],
    [
      { ...makePlan(), isInvestable: false },
      'Plan "plan-1": nonInvestableNote: expected text that explains why isInvestable is false; found null.',
    ],
    [
      { ...makePlan(), nonInvestableNote: 'Why?' },
      'Plan "plan-1": nonInvestableNote: expected null, because isInvestable is true; found "Why?".',
    ],
    [
      { ...makePlan(), planType: { id: 1 } },
      'Plan "plan-1": planType.name: expected text of 1 to 200 characters; found nothing.',
    ],
    [
      { ...makePlan(), planType: 'Bond' },
      'Plan "plan-1": planType: expected an object with id and name, or null; found "Bond".',
    ],
    [{ ...makePlan(), color: 'red' }, 'Plan "plan-1": unknown field "color".'],
    [
      { ...makePlan(), viewableIn: ['KE', 'XX'] },
      'Plan "plan-1": viewableIn.1: expected an ISO 3166-1 alpha-2 country code in upper case, such as "KE"; found "XX".',
    ],
    [
      { ...makePlan(), viewableIn: ['KE', 'KE'] },
      'Plan "plan-1": viewableIn: expected each country once; found ["KE","KE"].',
    ],
    [{ ...makePlan(), tenor: ' \t' }, 'Plan "plan-1": tenor: expected text of 1 to 200 characters; found " \\t".'],
    [
      { ...makePlan(), hint: 'a\u007f' },
      'Plan "plan-1": hint: expected text without control characters other than tab and line feed; found "a\\u007f".',
    ],
    [
      { ...makePlan(), factSheet: 'https://[x' },
      'Plan "plan-1": factSheet: expected an https URL; found "https://[x".',
    ],
    [
      { ...makePlan(), performance10: -100.5 },
      'Plan "plan-1": performance10: expected a number of -100 or more, or null; found -100.5.',
    ],
    [
      { ...makePlan(), id: 2 ** 53 },
      'Plan "plan-1": id: expected an integer from 0 to 9007199254740990; found 9007199254740992.',
    ],
    [
      { ...makePlan(), minTopUpAmounts: { '\u001b[31m': 1 } },
      'Plan "plan-1": minTopUpAmounts: expected an ISO 4217 currency code in upper case, such as "KES"; found "\\u001b[31m".',
    ],
    [
      { ...makePlan(), name: 'n'.repeat(300) },
      `Plan "plan-1": name: expected text of 1 to 200 characters; found "${'n'.repeat(78)}….`,
    ],
    ['a plan', 'Plan number 1: expected an object; found "a plan".'],
  ]
  test.each(cases.map(([plan, defect]) => ({ plan, defect })))('$defect', ({ plan, defect }) => {
    expect(parse(plan)).toEqual({ kind: 'invalid', defects: [expect.stringContaining(defect)] })
  })

  test('all defects of a file are named at once', () => {
    const result = parse(
      makePlan({ name: '' }),
      makePlan({ id: 2 }),
      null,
      makePlan({ id: 4, currency: 'x', tenor: '' }),
    )
    expect(result).toEqual({
      kind: 'invalid',
      defects: [
        expect.stringContaining('Plan "plan-1": name:'),
        expect.stringContaining('Plan number 3:'),
        expect.stringContaining('Plan "plan-4": currency:'),
        expect.stringContaining('Plan "plan-4": tenor:'),
      ],
    })
  })

  test('plans that conflict with each other are named', () => {
    const result = parse(
      makePlan(),
      makePlan({ id: 1, identifier: 'other' }),
      makePlan({ id: 2, identifier: 'plan-1' }),
      makePlan({ id: 3, fundManager: { id: 6, name: 'Another name' } }),
    )
    expect(result).toEqual({
      kind: 'invalid',
      defects: [
        'Plan "other": id: 1 is also the id of plan "plan-1".',
        'Plan "plan-1": identifier: another plan has the same identifier.',
        'Plan "plan-3": fundManager: id 6 has other values in plan "plan-1".',
      ],
    })
  })
})

test('the demo catalog has 34 plans and every special case', async () => {
  const result = parseCatalog(await readFile('src/catalog/demo.json', 'utf8'))
  if (result.kind === 'invalid') throw new Error(result.defects.join('\n'))
  const { plans } = result
  const only = (condition: (plan: (typeof plans)[number]) => boolean) => plans.filter(condition).map(({ id }) => id)

  expect(plans.length).toBe(34)
  expect(only(({ viewableIn }) => viewableIn.length > 1)).toEqual([109, 110])
  expect(only(({ viewableIn }) => viewableIn.length === 0)).toHaveLength(1)
  expect(only(({ isInvestable }) => !isInvestable)).toHaveLength(1)
  expect(only(({ minInvestableAmounts }) => Object.keys(minInvestableAmounts).length === 2)).toHaveLength(1)
  expect(only((plan) => plan.performance1 === null && plan.performance10 === null)).toHaveLength(1)
  expect(only(({ category }) => category === null)).toHaveLength(1)
  expect(only(({ fundManager }) => fundManager === null)).toHaveLength(1)
  expect(only(({ name }) => name.includes("'"))).toEqual([108, 304])
})
