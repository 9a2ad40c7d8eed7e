import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatCatalog, parseCatalog } from '../../src/catalog/catalog-file.ts'
import { arbitraryCatalog, makePlan } from '../support/make-plan.ts'
import { printDefects } from '../support/print-defects.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }

const parse = (...plans: unknown[]) => parseCatalog(JSON.stringify({ plans }))
const listDefects = (...plans: unknown[]) => printDefects(parse(...plans))

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
  const text = JSON.stringify({ catalog: 'XYZ', revision: -1, country: 'ke', contry: 1, plans: [null] })
  expect(printDefects(parseCatalog(text))).toEqual([
    'The file: catalog: expected 16 hexadecimal digits in lower case; found "XYZ".',
    'The file: revision: expected an integer from 0 to 9007199254740990; found -1.',
    'The file: country: expected an ISO 3166-1 alpha-2 country code in upper case, such as "KE"; found "ke".',
    'The file: expected the name of a field; found "contry". Did you mean country?',
    'Plan number 1: expected an object; found null.',
  ])
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
      const isExpected = (line: string) =>
        /^Plan .*expected .*; found .*\.(?: Did you mean .*\?)?$|^Line .*; found "__proto__"\.$/.test(line)
      expect(result.kind === 'invalid' ? printDefects(result).filter((line) => !isExpected(line)) : []).toEqual([])
    }),
  )
})

test.each([
  ['null', 'The file: expected a JSON object with an array "plans"; found null.'],
  ['[]', 'The file: expected a JSON object with an array "plans"; found [].'],
  ['{}', 'The file: plans: expected an array of plans; found nothing.'],
  ['{"plans":{}}', 'The file: plans: expected an array of plans; found {}.'],
  ['{"plans":[],"revision":1}', 'The file: catalog: expected a value, because the file has a revision; found nothing.'],
  [
    '{"plans":[],"catalog":"0123456789abcdef"}',
    'The file: revision: expected a value, because the file has a catalog; found nothing.',
  ],
  ['{"plans":[],"plans":[]}', 'Line 1, column 13: expected each name once; found "plans", as in line 1, column 2.'],
])('refuses %j', (text, defect) => {
  expect(printDefects(parseCatalog(text))).toEqual([defect])
})

test('a field has one defect, whatever its value', () => {
  const plan = makePlan()
  // Each wrong currency of an amount is a defect of its own.
  const place = fc.constantFrom(...Object.keys(plan).filter((name) => !name.endsWith('Amounts')))
  const value = fc.oneof(fc.constantFrom(...naughtyStrings), fc.jsonValue(), fc.constantFrom('', ' ', '\u009b'))
  fc.assert(
    fc.property(place, value, (name, replaced) => {
      const lines = listDefects({ ...plan, [name]: replaced }).filter((line) => !line.includes('the name of a field'))
      const places = lines.map((line) => line.split(' expected')[0])
      expect(new Set(places).size).toBe(places.length)
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
      'Plan number 1: identifier: expected 1 to 100 letters, digits, dots, underscores and hyphens, starting with a letter or a digit, and not only digits; found 7.',
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
    [
      { ...makePlan(), imageUrl: 'http://x' },
      'Plan "plan-1": imageUrl: expected an https URL with a domain name, without a user name and backslashes; found "http://x".',
    ],
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
    [{ ...makePlan(), color: 'red' }, 'Plan "plan-1": expected the name of a field; found "color".'],
    [
      { ...makePlan(), Performance3: 1 },
      'Plan "plan-1": expected the name of a field; found "Performance3". Did you mean performance3?',
    ],
    [
      { ...makePlan(), planType: { id: 1, name: 'A', nam: 'B' } },
      'Plan "plan-1": planType: expected the name of a field; found "nam". Did you mean name?',
    ],
    [
      { ...makePlan(), currency: 'KES ' },
      'Plan "plan-1": currency: expected an ISO 4217 currency code in upper case, such as "KES"; found "KES ", with a space at the end.',
    ],
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
      'Plan "plan-1": factSheet: expected an https URL with a domain name, without a user name and backslashes; found "https://[x".',
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
    expect(listDefects(plan)).toEqual([defect])
  })

  test.each([
    ['identifier', '101'],
    ['factSheet', 'https://docs.example.com@evil.example/x.pdf'],
    ['factSheet', String.raw`https://docs.example.com\@evil.example/x.pdf`],
    ['factSheet', String.raw`https://docs.example.com/a\b.pdf`],
    ['factSheet', 'https://192.0.2.7/x.pdf'],
    ['factSheet', 'https://3221225991/x.pdf'],
    ['factSheet', 'https://0xc0.2.7/x.pdf'],
    ['factSheet', 'https://１９２.0.2.7/x.pdf'],
    ['factSheet', 'https://[2001:db8::7]/x.pdf'],
    ['factSheet', 'https://intranet/x.pdf'],
    ['factSheet', 'https://docs.example.com/\u202efdp.exe'],
    ['name', 'two\nlines'],
    ['name', 'Mwamba \u202edraobraH'],
    ['name', 'صندوق\u200f'],
    ['coolName', 'Mwam\u200bba'],
    ['coolName', 'Mwam\u200dba'],
    ['coolName', 'Mwam\ufe0fba'],
    ['coolName', 'Mwam\u00adba'],
    ['coolName', 'Mwam\u3164ba'],
    ['coolName', 'Mwam\u{e0041}ba'],
  ])('of a misleading %s: %j', (field, value) => {
    expect(listDefects({ ...makePlan(), [field]: value })).toEqual([expect.stringContaining(`: ${field}: expected `)])
  })

  test.each([
    ['prospectus', 'https://docs.example.com:8443/@mwamba/صورة.pdf?a=@#b'],
    ['prospectus', 'https://пример.рф'],
    ['name', "Halisi Shari'ah, Société d’Épargne Ọdan, e\u0301"],
    ['name', 'የገንዘብ ፈንድ'],
    ['name', 'می\u200cخواهم ශ්\u200dරී 葛\u{e0100}'],
    ['name', '👨‍👩‍👧‍👦 👩🏽‍🚀 ☀️'],
  ])('but not of the %s %s', (field, value) => {
    expect(listDefects({ ...makePlan(), [field]: value })).toEqual([])
  })

  test('all defects of a file are named at once', () => {
    const plans = [makePlan({ name: '' }), makePlan({ id: 2 }), null, makePlan({ id: 4, currency: 'x', tenor: '' })]
    expect(listDefects(...plans)).toEqual([
      expect.stringContaining('Plan "plan-1": name:'),
      expect.stringContaining('Plan number 3:'),
      expect.stringContaining('Plan "plan-4": currency:'),
      expect.stringContaining('Plan "plan-4": tenor:'),
    ])
  })

  test('plans that conflict with each other are named, and where values are shared, those with the rarer ones', () => {
    const other = { id: 6, name: 'Another name' }
    const plans = [makePlan(), makePlan({ id: 1, identifier: 'other' }), makePlan({ id: 2, identifier: 'plan-1' })]
    expect(listDefects(makePlan({ id: 3, fundManager: other }), ...plans)).toEqual([
      'Plan "other" (number 3): id: expected an id that no other plan has; found 1, as in plan "plan-1" (number 2).',
      'Plan "plan-1" (number 4): identifier: expected an identifier that no other plan has; found "plan-1", as in plan "plan-1" (number 2).',
      'Plan "plan-3" (number 1): fundManager.name: expected "Société d’Épargne Ɔdum", as in 3 plans with fundManager.id 6, such as plan "plan-1"; found "Another name". Plans with the same fundManager.id share its values: change all of them together.',
    ])
  })
})
