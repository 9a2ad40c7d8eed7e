// What JSON.parse does not say about a text. Pure.
import { parseJson } from '../../../json.ts'

export type Path = readonly (string | number)[]

/** The schema ignores it in amounts. */
export const unsafeName = '__proto__'

/** No file of plans has more. JSON.stringify and others fail at some thousands. */
const maxLevels = 100

/**
 * Finds repeated names, of which JSON.parse keeps the last, and unsafe names. @param json valid JSON. @returns their paths.
 * @throws RangeError for too many levels
 */
export function findWrongNames(json: string): Path[] {
  const names: Path[] = []
  /** For each level: the names of an object, and where in the array or object the scan is. */
  const levels: { known: Set<string> | undefined; at: string | number }[] = []
  let level: (typeof levels)[number] | undefined
  let isName = false
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') {
      const start = index++
      while (json[index] !== '"') index += json[index] === '\\' ? 2 : 1
      if (!isName || !level?.known) continue
      const text = json.slice(start, index + 1)
      const name = text.includes('\\') ? String(parseJson(text)) : text.slice(1, -1)
      level.at = name
      if (level.known.has(name) || name === unsafeName) names.push(levels.map(({ at }) => at))
      level.known.add(name)
    } else if (character === ':') isName = false
    else if (character === ',') {
      isName = true
      if (typeof level?.at === 'number') level.at++
    } else if (character === '}' || character === ']') {
      levels.pop()
      level = levels.at(-1)
    } else if (character === '{' || character === '[') {
      isName = character === '{'
      level = isName ? { known: new Set(), at: '' } : { known: undefined, at: 0 }
      levels.push(level)
      if (levels.length > maxLevels) throw new RangeError(`more than ${maxLevels} levels of objects and arrays`)
    }
  }
  return names
}
