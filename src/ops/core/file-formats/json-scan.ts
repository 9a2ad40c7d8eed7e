// Finds names in a JSON text that JSON.parse accepts, but that make a file ambiguous. Pure.

/** The names of objects and the positions in arrays that lead to a value, from the outermost. */
export type Path = readonly (string | number)[]

/** A name that no object may have: zod leaves it out of amounts without an error. */
export const unsafeName = '__proto__'

/** A file of plans has fewer. JSON.stringify fails at some thousands. */
const maxLevels = 100

/** A string, or a character that opens, closes or continues an object or array. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g

/**
 * Finds names that an object has twice, of which JSON.parse keeps the last, and `__proto__`.
 * @param json valid JSON.
 * @returns the path of each.
 * @throws RangeError for too many levels.
 */
export function findWrongNames(json: string): Path[] {
  const wrong: Path[] = []
  /** The objects and arrays around the current token. `at` is the current name or position, `names` has all names of an object so far. */
  const levels: { names?: Set<string>; at: string | number }[] = []
  let previous = ''
  for (const [text] of json.matchAll(token)) {
    const level = levels.at(-1)
    if (text === '{' || text === '[') {
      levels.push(text === '{' ? { names: new Set(), at: '' } : { at: 0 })
      if (levels.length > maxLevels) throw new RangeError(`more than ${maxLevels} levels of objects and arrays`)
    } else if (text === '}' || text === ']') levels.pop()
    else if (text === ',') {
      if (typeof level?.at === 'number') level.at++
    } else if (level?.names && (previous === '{' || previous === ',')) {
      const name = text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
      level.at = name
      if (level.names.has(name) || name === unsafeName) wrong.push(levels.map(({ at }) => at))
      level.names.add(name)
    }
    previous = text
  }
  return wrong
}
