// Finds names in a JSON text that JSON.parse accepts, but that make a file ambiguous.

/** The names in objects and the positions in arrays that lead to a value, from the outside in, such as `['plans', 0, 'category']`. */
export type Path = readonly (string | number)[]

/** A name that no object may have: zod leaves it out of amounts without an error. */
export const unsafeName = '__proto__'

/** A file of plans has fewer levels. JSON.stringify fails at some thousands. */
const maxLevels = 100

/** Matches a string, or a character that opens, closes or continues an object or array. */
const tokenPattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g

/** Finds unsafe names, and names that an object has twice: JSON.parse keeps only the last value. @throws RangeError for too many levels. */
export function findWrongNames(validJson: string): Path[] {
  const wrongPaths: Path[] = []
  /** The objects and arrays around the current token. `at` is the current name or position. `names` has the names of an object so far. */
  const levels: { names?: Set<string>; at: string | number }[] = []
  let previousToken = ''
  for (const [token] of validJson.matchAll(tokenPattern)) {
    const level = levels.at(-1)
    if (token === '{' || token === '[') {
      levels.push(token === '{' ? { names: new Set(), at: '' } : { at: 0 })
      if (levels.length > maxLevels) throw new RangeError(`more than ${maxLevels} levels of objects and arrays`)
    } else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') {
      if (typeof level?.at === 'number') level.at++
    } else if (level?.names && (previousToken === '{' || previousToken === ',')) {
      // A string after `{` or `,` in an object is a name. Any other string is a value.
      const name = token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
      level.at = name
      if (level.names.has(name) || name === unsafeName) wrongPaths.push(levels.map(({ at }) => at))
      level.names.add(name)
    }
    previousToken = token
  }
  return wrongPaths
}
