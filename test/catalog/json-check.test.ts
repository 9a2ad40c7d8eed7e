import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describePlace, findJsonProblems } from '../../src/catalog/json-check.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const hasSyntaxError = (text: string) => findJsonProblems(text).some(({ kind }) => kind === 'syntax')

const json = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
  fc.constantFrom(...naughtyStrings).map((text) => JSON.stringify({ [text]: text })),
  fc.double().map(String),
)

describe('agrees with JSON.parse', () => {
  test('about JSON', () => {
    fc.assert(fc.property(json, (text) => hasSyntaxError(text) === !isJson(text)))
  })

  test('about JSON that was damaged at one place', () => {
    const characters = '{}[]":,\\-+.eE0123abtfnul \t\n\r\u0000\u001f\u007f\u0085\u2028\ufeff'.split('')
    const damaged = fc
      .tuple(json, fc.nat(), fc.constantFrom('', ...characters), fc.boolean())
      .map(([text, place, character, isReplaced]) => {
        const at = place % (text.length + 1)
        return text.slice(0, at) + character + text.slice(at + Number(isReplaced))
      })
    fc.assert(fc.property(damaged, (text) => hasSyntaxError(text) === !isJson(text)))
  })

  test('about any text', () => {
    const token = fc.constantFrom(
      ...'{}[]:,'.split(''),
      '"a"',
      '"\\',
      '-',
      '1',
      '01',
      '1.',
      '1e',
      '.5',
      'true',
      'nul',
      ' ',
      '\n',
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(token).map((tokens) => tokens.join('')),
    )
    fc.assert(fc.property(text, (sample) => hasSyntaxError(sample) === !isJson(sample)))
  })

  test('where JSON ends too early: at the start of the last word', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (value, place) => {
        const text = JSON.stringify([value])
        const cut = text.slice(0, place % text.length)
        const [problem, ...others] = findJsonProblems(cut)
        expect([problem?.kind, others]).toEqual(['syntax', []])
        expect(cut.slice(problem?.offset)).toMatch(/^(|tru?|fals?|f|fa|t|nul?|n|-|e[+-]?|\.|\\u?[0-9a-f]{0,3})$/)
      }),
    )
  })
})

test.each([
  ['', 'line 1, column 1', 'a value'],
  ['{"a": 1,\n "b": x}', 'line 2, column 7', 'a value'],
  ['{"a": 1,\r\n}', 'line 2, column 1', 'a name in double quotes'],
  ["{'a': 1}", 'line 1, column 2', 'a name in double quotes'],
  ['{"a" 1}', 'line 1, column 6', 'a colon'],
  ['{"a": 1\n\n"b": 2}', 'line 3, column 1', 'a comma or }'],
  ['[1, 2', 'line 1, column 6', 'a comma or ]'],
  ['[1, 2,]', 'line 1, column 7', 'a value'],
  ['{} {}', 'line 1, column 4', 'the end of the file'],
  ['["abc', 'line 1, column 6', 'a double quote at the end of the text'],
  ['["a\nb"]', 'line 1, column 4', 'an escape such as \\n, not a control character'],
  ['["C:\\data"]', 'line 1, column 5', 'an escape of JSON after the backslash'],
  ['[0012]', 'line 1, column 3', 'a comma or ]'],
  ['[12,5.]', 'line 1, column 6', 'a comma or ]'],
])('names the place of the error in %j, and what is expected there', (text, place, expected) => {
  const [problem] = findJsonProblems(text)
  expect(problem).toMatchObject({ kind: 'syntax', expected })
  expect(describePlace(text, problem?.offset ?? 0)).toBe(place)
})

describe('members that an object has twice', () => {
  test('are found where JSON.parse keeps only the last', () => {
    const names = fc.array(fc.constantFrom('a', 'b', '__proto__', '\u00e9', '"', ''), { maxLength: 6 })
    fc.assert(
      fc.property(names, fc.array(fc.nat(3), { maxLength: 3 }), (members, places) => {
        let text = `{${members.map((name) => `${JSON.stringify(name)}:{}`).join(',')}}`
        for (const place of places) text = `[${'0,'.repeat(place)}${text}]`
        const repeated = members.filter((name, index) => members.indexOf(name) < index)
        expect(findJsonProblems(text)).toEqual(
          repeated.map((name) => ({
            kind: 'duplicate',
            name,
            path: places.toReversed(),
            offset: expect.any(Number) as number,
          })),
        )
      }),
    )
  })

  test('are found inside plans, also when one name is written with an escape', () => {
    const text = '{"plans": [{"a": 1}, {"m": {"KES": 1,\n "K\\u0045S": 2}}]}'
    const [problem, ...others] = findJsonProblems(text)
    expect(others).toEqual([])
    expect(problem).toMatchObject({ kind: 'duplicate', path: ['plans', 1, 'm'], name: 'KES' })
    expect(describePlace(text, problem?.offset ?? 0)).toBe('line 2, column 2')
  })
})

test('deep nesting and long texts do not overflow the stack', () => {
  expect(findJsonProblems(`["${'é'.repeat(20_000_000)}"]`)).toEqual([])
  expect(findJsonProblems('['.repeat(100_000) + ']'.repeat(100_000))).toEqual([])
})
