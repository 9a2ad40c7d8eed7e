// Finds what JSON.parse doesn't tell: the place of a syntax error, and members that an object has twice.

/** An offset into the text. */
export type JsonProblem =
  | { kind: 'syntax'; offset: number; expected: string }
  /** `path` leads to the object, `name` is the member that it has twice. */
  | { kind: 'duplicate'; offset: number; path: (string | number)[]; name: string }

interface Container {
  /** The names so far; undefined for an array. */
  names: Set<string> | undefined
  /** The member or the element that is being read. */
  key: string | number
}

const space = /[\t\n\r ]*/y
// oxlint-disable-next-line no-control-regex -- JSON has no control characters in texts
const plainText = /[^"\\\u0000-\u001f]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y
const scalar = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y

/** Finds the first syntax error, or else every member that an object has twice. */
export function findJsonProblems(text: string): JsonProblem[] {
  const duplicates: JsonProblem[] = []
  const open: Container[] = []
  let offset = 0

  /** Reads what matches at the offset. */
  function read(pattern: RegExp): string {
    pattern.lastIndex = offset
    const found = pattern.exec(text)?.[0] ?? ''
    offset += found.length
    return found
  }
  /** Reads one of these characters, after white space. */
  function readOneOf(characters: string): string | undefined {
    read(space)
    const character = text[offset]
    if (character === undefined || !characters.includes(character)) return undefined
    offset++
    return character
  }
  function readString(): string | undefined {
    read(space)
    if (text[offset] !== '"') return undefined
    const start = offset
    offset++
    do read(plainText)
    while (read(escape) !== '')
    return text[offset] === '"' ? text.slice(start, ++offset) : undefined
  }
  const syntax = (expected: string): JsonProblem[] => [{ kind: 'syntax', offset, expected }]

  /** Reads a member's name and its colon. @returns what was expected instead. */
  function readName(container: Container): string | undefined {
    read(space)
    const start = offset
    const json = readString()
    if (json === undefined) return start === offset ? 'a name in double quotes' : describeBadString()
    const name: string = json.includes('\\') ? JSON.parse(json) : json.slice(1, -1)
    if (container.names?.has(name)) {
      const path = open.slice(0, -1).map(({ key }) => key)
      duplicates.push({ kind: 'duplicate', offset: start, path, name })
    }
    container.names?.add(name)
    container.key = name
    return readOneOf(':') === undefined ? 'a colon' : undefined
  }
  function describeBadString(): string {
    if (text[offset] === undefined) return 'a double quote at the end of the text'
    return text[offset] === '\\'
      ? 'an escape of JSON after the backslash'
      : 'an escape such as \\n, not a control character'
  }

  for (;;) {
    // A value starts here.
    const bracket = readOneOf('{[')
    if (bracket === '{') {
      const container: Container = { names: new Set(), key: '' }
      open.push(container)
      if (readOneOf('}') === undefined) {
        const expected = readName(container)
        if (expected !== undefined) return syntax(expected)
        continue
      }
      open.pop()
    } else if (bracket === '[') {
      open.push({ names: undefined, key: 0 })
      if (readOneOf(']') === undefined) continue
      open.pop()
    } else {
      const start = offset
      if (readString() === undefined) {
        if (start !== offset) return syntax(describeBadString())
        if (read(scalar) === '') return syntax('a value')
      }
    }
    // A value has ended: close its containers, up to one that goes on.
    for (;;) {
      const container = open.at(-1)
      if (container === undefined) {
        read(space)
        return offset === text.length ? duplicates : syntax('the end of the file')
      }
      const close = container.names === undefined ? ']' : '}'
      const next = readOneOf(`,${close}`)
      if (next === undefined) return syntax(`a comma or ${close}`)
      if (next === close) {
        open.pop()
        continue
      }
      if (typeof container.key === 'number') container.key++
      else {
        const expected = readName(container)
        if (expected !== undefined) return syntax(expected)
      }
      break
    }
  }
}

/** @returns the line and the column of an offset, both counted from 1, in words. */
export function describePlace(text: string, offset: number): string {
  const before = text.slice(0, offset)
  const lines = before.split(/\r\n|\n|\r/)
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
}
