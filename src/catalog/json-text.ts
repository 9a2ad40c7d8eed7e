// Reads JSON and says where it is wrong. JSON.parse tells no place, and keeps the last of two members with the same name.
import { printParseErrorCode, visit } from 'jsonc-parser'
import type { Defect, Place } from './defect.ts'
import { describeValue } from './plan-cells.ts'

/** A catalog file has 4 levels. More than that many overflow the stack of the functions that walk through a value. */
const maxDepth = 100

const expectations: Record<ReturnType<typeof printParseErrorCode>, string> = {
  InvalidSymbol: 'a value, or a name in double quotes',
  InvalidNumberFormat: 'a number',
  PropertyNameExpected: 'a name in double quotes',
  ValueExpected: 'a value',
  ColonExpected: 'a colon',
  CommaExpected: 'a comma or a closing bracket',
  CloseBraceExpected: 'a comma or }',
  CloseBracketExpected: 'a comma or ]',
  EndOfFileExpected: 'the end of the file',
  InvalidCommentToken: 'no comment',
  UnexpectedEndOfComment: 'no comment',
  UnexpectedEndOfString: 'a double quote at the end of the text',
  UnexpectedEndOfNumber: 'a number',
  InvalidUnicode: String.raw`4 hexadecimal digits after \u`,
  InvalidEscapeCharacter: 'an escape of JSON after the backslash',
  InvalidCharacter: String.raw`an escape such as \n, not a control character`,
  '<unknown ParseErrorCode>': 'JSON',
}

/** Finds every member that an object has twice, or else the first error. The value is undefined when it can't be read. */
export function readJson(text: string): { value: unknown; defects: Defect[] } {
  const defects: Defect[] = []
  /** The names of each open object, and the places of these names. */
  const open: Map<string, Place>[] = []
  let problem: Defect | undefined
  const stop = (defect: Defect): never => {
    problem = defect
    throw new Error('the file is not JSON')
  }
  const enter = (_offset: number, _length: number, line: number, column: number) => {
    open.push(new Map())
    if (open.length <= maxDepth) return
    stop({ place: placeAt(line, column), expected: `at most ${maxDepth} levels of nesting`, found: 'more' })
  }
  const leave = () => void open.pop()
  try {
    visit(
      text,
      {
        onObjectBegin: enter,
        onArrayBegin: enter,
        onObjectEnd: leave,
        onArrayEnd: leave,
        onObjectProperty(name, _offset, _length, line, column) {
          const place = placeAt(line, column)
          // An assignment to an object would drop this member without a word.
          if (name === '__proto__') stop({ place, expected: 'another name', found: '"__proto__"' })
          const names = open.at(-1)
          const alsoAt = names?.get(name)
          if (alsoAt) defects.push({ place, expected: 'each name once', found: describeValue(name), alsoAt })
          else names?.set(name, place)
        },
        onError(code, offset, length, line, column) {
          const found = offset >= text.length ? 'the end' : describeValue(text.slice(offset, offset + length))
          stop({ place: placeAt(line, column), expected: expectations[printParseErrorCode(code)], found })
        },
      },
      { disallowComments: true },
    )
    return { value: JSON.parse(text), defects }
  } catch (error) {
    const found = error instanceof Error ? error.message : 'another text'
    return { value: undefined, defects: [problem ?? { place: { kind: 'file' }, expected: 'JSON', found }] }
  }
}

function placeAt(line: number, column: number): Place {
  return { kind: 'text', line: line + 1, column: column + 1 }
}
