import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from '../../src/catalog/json-text.ts'
import { printDefects } from '../support/print-defects.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }

/** JSON.parse knows neither places nor repeated names. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const json = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
  fc.constantFrom(...naughtyStrings).map((text) => JSON.stringify({ [text]: text })),
  fc.double().map(String),
)
const characters = '{}[]":,\\-+.eE0123abtfnul/ \t\n\r\u0000\u001f\u007f\u0085\u00a0\u2028\ufeff'.split('')
const damaged = fc
  .tuple(json, fc.nat(), fc.constantFrom('', ...characters), fc.boolean())
  .map(([text, place, character, isReplaced]) => {
    const at = place % (text.length + 1)
    return text.slice(0, at) + character + text.slice(at + Number(isReplaced))
  })

test('agrees with JSON.parse about any text, and names a line where it refuses one', () => {
  fc.assert(
    fc.property(fc.oneof(json, damaged, fc.string({ unit: 'binary' })), (text) => {
      const { value, defects } = readJson(text)
      const [defect, parsed] = [defects[0], parse(text)]
      if (defect === undefined) return isDeepStrictEqual(value, parsed)
      return (
        defect.place.kind === 'text' &&
        (parsed === undefined || defect.expected.endsWith(' name') || defect.expected === 'each name once')
      )
    }),
  )
})

test.each([
  ['', 'Line 1, column 1: expected a value; found the end.'],
  ['{"a": 1,\n "b": x}', 'Line 2, column 7: expected a value, or a name in double quotes; found "x".'],
  ['{"a": 1,\r\n}', 'Line 2, column 1: expected a name in double quotes; found "}".'],
  ["{'a': 1}", `Line 1, column 2: expected a value, or a name in double quotes; found "'a'".`],
  ['{"a" 1}', 'Line 1, column 6: expected a colon; found "1".'],
  ['{"a": 1\n\n"b": 2}', String.raw`Line 3, column 1: expected a comma or a closing bracket; found "\"b\"".`],
  ['[1, 2', 'Line 1, column 6: expected a comma or ]; found the end.'],
  ['[1, 2,]', 'Line 1, column 7: expected a value; found "]".'],
  ['{} {}', 'Line 1, column 4: expected the end of the file; found "{".'],
  ['["abc', String.raw`Line 1, column 2: expected a double quote at the end of the text; found "\"abc".`],
  ['["C:\\data"]', String.raw`Line 1, column 2: expected an escape of JSON after the backslash; found "\"C:\\data\"".`],
  ['[12,5.]', 'Line 1, column 5: expected a number; found "5.".'],
  [
    '{"x":[{"a":1,"b":{"KES":1,\n"K\\u0045S":2}}]}',
    'Line 2, column 1: expected each name once; found "KES", as in line 1, column 19.',
  ],
  ['{"plans":[],"plans":[]}', 'Line 1, column 13: expected each name once; found "plans", as in line 1, column 2.'],
  ['[{"__proto__":{}}]', 'Line 1, column 3: expected another name; found "__proto__".'],
  ['{"a":'.repeat(101), 'Line 1, column 501: expected at most 100 levels of nesting; found more.'],
  ['['.repeat(50_000_000), 'Line 1, column 101: expected at most 100 levels of nesting; found more.'],
])('refuses %.40j', (text, defect) => {
  expect(printDefects(readJson(text))).toEqual([defect])
})

test('reads 50 MB', () => {
  const text = 'é'.repeat(25_000_000)
  expect(readJson(`[0,\n"${text}"]`)).toEqual({ value: [0, text], defects: [] })
})
