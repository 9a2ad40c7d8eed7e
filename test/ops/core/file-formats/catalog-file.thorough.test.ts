import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatCatalog, parseCatalog } from '../../../../src/ops/core/file-formats/catalog-file.ts'
import { arbitraryCatalog, arbitrarySource, makePlan } from '../../../support/make-plan.ts'
import { printDefects } from '../../../support/print-defects.ts'
import naughtyStrings from '../../../vectors/naughty-strings.json' with { type: 'json' }

const refuse = (json: string) => printDefects(() => parseCatalog(json))
const listDefects = (...plans: unknown[]) => refuse(JSON.stringify({ plans }))

test('reads a written catalog back unchanged, and where it comes from', () => {
  fc.assert(
    fc.property(arbitraryCatalog, arbitrarySource, (plans, { origin }) => {
      expect(parseCatalog(formatCatalog(plans, origin))).toEqual({ plans, origin })
    }),
  )
})

test('refuses half of where a file comes from: without the other, it would replace what others changed', () => {
  const text = JSON.stringify({ catalog: '0123456789abcdef', plans: [] })
  expect(refuse(text)).toEqual([expect.stringContaining('both catalog and revision')])
})

test('names every defect of the file itself, before those of its plans', () => {
  const text = JSON.stringify({ catalog: 'XYZ', revision: -1, revisoin: 1, plans: [null] })
  expect(refuse(text)).toEqual([
    'The file: catalog: expected 16 hexadecimal digits in lower case; found "XYZ".',
    'The file: revision: expected an integer from 0 to 9007199254740990; found -1.',
    'The file: expected the name of a field; found "revisoin". Did you mean revision?',
    'Plan number 1: expected an object; found nothing.',
  ])
})

describe('a name', () => {
  const text = JSON.stringify({
    plans: [makePlan({ id: 7 }), makePlan({ about: '{"id":1,"id":2}, \\', identifier: 'b' })],
  })
  const second = 'expected one value; found a second.'
  const unknown = 'expected the name of a field; found "__proto__".'
  test.each([
    ['{"plans":', '{"plans":[],"plans":', `The file: plans: ${second}`],
    ['{"plans":', '{"catalog":"","catal\\u006fg":"","plans":', `The file: catalog: ${second}`],
    ['"performance1":', '"performance1":31.9,"performance1":', `Plan "plan-7": performance1: ${second}`],
    ['"identifier":"b"', '"identifier":"b","id":3', `Plan "b": id: ${second}`],
    ['"performance1":', '"performance\\u0031":31.9,"performance1":', `Plan "plan-7": performance1: ${second}`],
    ['"category":{', '"category":{"id":1,"id":1,', `Plan "plan-7": category.id: ${second}`],
    ['Amounts":{', 'Amounts":{"KES":1,"KES":1,', `Plan "plan-7": minInvestableAmounts.KES: ${second}`],
    ['Amounts":{', 'Amounts":{"__proto__":5,', `Plan "plan-7": minInvestableAmounts: ${unknown}`],
    ['"category":{', '"category":{"__proto__":5,', `Plan "plan-7": category: ${unknown}`],
    ['"identifier":"b"', '"identifier":"b","__proto__":{"id":3}', `Plan "b": ${unknown}`],
  ])('is refused when it is repeated, or is that of no field: %s in %s', (before, after, defect) => {
    expect(refuse(text)).toEqual([])
    expect(refuse(text.replace(before, after))).toContain(defect)
  })

  test('is accepted once in each object, whatever it is', () => {
    const names = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((object) => JSON.stringify({ plans: [object, object] }))
    fc.assert(
      fc.property(names, (json) => {
        expect(refuse(json).filter((line) => line.includes(second))).toEqual([])
      }),
    )
  })
})

test('texts that look the same are the same: before they are counted, and for plans that share an object', () => {
  const category = { id: 1, name: 'É'.repeat(200), displayName: 'É', tagLine: 'É' }
  const plans = [makePlan({ id: 1, category, fundType: 'Équité' }), makePlan({ id: 2, category })]
  const file = parseCatalog(formatCatalog(plans).normalize('NFD').replaceAll('E\u0301"', 'E\u0301\u00a0"'))
  expect(file).toEqual({ plans })
})

test('refuses any text that is not a catalog', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(refuse(text)).not.toEqual([])
    }),
  )
})

test('refuses a plan with any value in any field, or reads it back unchanged', () => {
  const plan = makePlan()
  const place = fc.constantFrom(...Object.keys(plan), 'another')
  const value = fc.oneof(fc.constantFrom(...naughtyStrings), fc.jsonValue(), fc.double(), fc.maxSafeInteger())
  fc.assert(
    fc.property(fc.dictionary(place, value, { minKeys: 1, maxKeys: 3 }), (replaced) => {
      const text = JSON.stringify({ plans: [{ ...plan, ...replaced }] })
      const lines = refuse(text)
      const isExpected = (line: string) => /^Plan .*expected .*; found .*\.(?: Did you mean .*\?)?$/.test(line)
      expect(lines.filter((line) => !isExpected(line))).toEqual([])
      if (lines.length > 0) return
      const { plans } = parseCatalog(text)
      expect(parseCatalog(formatCatalog(plans))).toEqual({ plans })
    }),
  )
})

test.each([
  ['null', 'The file: expected a JSON object with an array "plans"; found nothing.'],
  ['[]', 'The file: expected a JSON object with an array "plans"; found [].'],
  ['{}', 'The file: plans: expected an array of plans; found nothing.'],
  ['{"plans":{}}', 'The file: plans: expected an array of plans; found {}.'],
  ['{"plans":', 'The file: expected JSON; found an error: Unexpected end of JSON input.'],
])('refuses %j', (text, defect) => {
  expect(refuse(text)).toEqual([defect])
})

test('refuses a file with 20,000 levels', () => {
  const text = `{"plans":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const reason = 'an error: more than 100 levels of objects and arrays'
  expect(refuse(text)).toEqual([`The file: expected JSON; found ${reason}.`])
})

describe('a defect names the plan, the field, the expected and the found value', () => {
  const currency = 'expected an ISO 4217 currency code in upper case, such as "KES"'
  const country = 'expected an ISO 3166-1 alpha-2 country code in upper case, such as "KE"'
  const url = 'expected an https URL with a domain name, and without a user name, spaces and letters such as é'
  const plainText = 'expected text without control characters other than tab and line feed'
  const integer = 'expected an integer from 0 to 9007199254740990'
  test.each<[change: object, defect: string]>([
    [{ name: undefined }, 'name: expected text of 1 to 200 characters; found nothing.'],
    [{ id: '1' }, `id: ${integer}; found "1".`],
    [{ id: 2 ** 53 }, `id: ${integer}; found 9007199254740992.`],
    [{ prospectus: '' }, 'prospectus: expected text of 1 to 2000 characters; found "".'],
    [{ name: '\u200b\ufeff' }, 'name: expected text with a visible character; found "\\u200b\\ufeff".'],
    [{ nonInvestableNote: '\u009b31m', isInvestable: false }, `nonInvestableNote: ${plainText}; found "\\u009b31m".`],
    [{ hint: '' }, 'hint: expected text of 1 to 300 characters; found "".'],
    [{ hint: 'a\u007f' }, `hint: ${plainText}; found "a\\u007f".`],
    [{ about: 'a\0' }, `about: ${plainText}; found "a\\u0000".`],
    [
      { name: 'Caf\ufffd Fund' },
      'name: expected text without U+FFFD, which stands in place of a letter that was lost; found "Caf\ufffd Fund".',
    ],
    [{ about: '\ud800' }, 'about: expected well-formed Unicode text; found "\\ud800".'],
    [{ tenor: ' \t' }, 'tenor: expected text of 1 to 200 characters; found " \\t".'],
    [{ imageUrl: 'http://x' }, `imageUrl: ${url}; found "http://x".`],
    [{ factSheet: 'https://[x' }, `factSheet: ${url}; found "https://[x".`],
    [
      { thumbnail: 'https://images.example.com/1 2.jpg' },
      `thumbnail: ${url}; found "https://images.example.com/1 2.jpg".`,
    ],
    [{ factSheet: 'https://bücher.example/' }, `factSheet: ${url}; found "https://bücher.example/".`],
    [{ performance1: '13%' }, 'performance1: expected a number in percent per year, or null; found "13%".'],
    [
      { performance10: -100.12345678901234 },
      'performance10: expected a number of -100 or more, or null; found -100.12345678901234.',
    ],
    [{ performanceDate: '2026-02-29' }, 'performanceDate: expected a calendar date as YYYY-MM-DD; found "2026-02-29".'],
    [{ currency: 'kes' }, `currency: ${currency}; found "kes".`],
    [{ currency: 'ZZZ' }, `currency: ${currency}; found "ZZZ".`],
    [{ currency: 'KES ' }, `currency: ${currency}; found "KES ".`],
    [
      { minTopUpAmounts: { KES: -0.1 - 0.2 } },
      'minTopUpAmounts.KES: expected a number of 0 or more; found -0.30000000000000004.',
    ],
    [{ minTopUpAmounts: { KSH: 1 } }, `minTopUpAmounts: ${currency}; found "KSH".`],
    [{ minTopUpAmounts: { '\u001b[31m': 1 } }, `minTopUpAmounts: ${currency}; found "\\u001b[31m".`],
    [
      { minTopUpAmounts: { KES: 0.1 + 0.2 } },
      'minTopUpAmounts.KES: expected a decimal number of at most 15 digits; found 0.30000000000000004.',
    ],
    [{ lockInPeriod: 0.5 }, `lockInPeriod: ${integer}; found 0.5.`],
    [{ isInvestable: 'yes' }, 'isInvestable: expected true or false; found "yes".'],
    [
      { isInvestable: false },
      'nonInvestableNote: expected text that explains why isInvestable is false; found nothing.',
    ],
    [{ nonInvestableNote: 'Why?' }, 'nonInvestableNote: expected null, because isInvestable is true; found "Why?".'],
    [{ planType: { id: 1 } }, 'planType.name: expected text of 1 to 200 characters; found nothing.'],
    [{ planType: 'Bond' }, 'planType: expected an object with id and name, or null; found "Bond".'],
    [
      { planType: { id: 1, name: 'A', nam: 'B' } },
      'planType: expected the name of a field; found "nam". Did you mean name?',
    ],
    [{ color: 'red' }, 'expected the name of a field; found "color".'],
    [{ Performance3: 1 }, 'expected the name of a field; found "Performance3". Did you mean performance3?'],
    [{ viewableIn: ['KE', 'XX'] }, `viewableIn: ${country}; found "XX".`],
    [{ viewableIn: ['KE', 'KE'] }, 'viewableIn: expected an array with each country once; found ["KE","KE"].'],
    [{ name: 'n'.repeat(300) }, `name: expected text of 1 to 200 characters; found "${'n'.repeat(78)}….`],
  ])('%j: %s', (change, defect) => {
    expect(listDefects({ ...makePlan(), ...change })).toEqual([`Plan "plan-1": ${defect}`])
  })

  test('and its number when it has no identifier', () => {
    const identifier =
      'identifier: expected 1 to 100 letters, digits, dots, underscores and hyphens, starting with a letter or a digit, and not only digits'
    expect(listDefects({ ...makePlan(), identifier: 7 }, 'a plan')).toEqual([
      `Plan number 1: ${identifier}; found 7.`,
      'Plan number 2: expected an object; found "a plan".',
    ])
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
    ['prospectus', 'https://docs.example.com:8443/@mwamba/%D8%B5.pdf?a=@#b?'],
    ['prospectus', 'https://xn--e1afmkfd.xn--p1ai'],
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

  test('plans that conflict with each other are named, and where values are shared, the later ones', () => {
    const other = { id: 6, name: 'Another name' }
    const plans = [makePlan(), makePlan({ id: 1, identifier: 'other' }), makePlan({ id: 2, identifier: 'plan-1' })]
    expect(listDefects(...plans, makePlan({ id: 3, fundManager: other }))).toEqual([
      'Plan "other" (number 2): id: expected an id that no other plan has; found 1, as in plan "plan-1" (number 1).',
      'Plan "plan-1" (number 3): identifier: expected an identifier that no other plan has; found "plan-1", as in plan "plan-1" (number 1).',
      'Plan "plan-3" (number 4): fundManager.name: expected "Société d’Épargne Ɔdum", as in plan "plan-1"; found "Another name". Plans with the same fundManager.id must have the same fundManager: change all these plans together.',
    ])
  })
})
