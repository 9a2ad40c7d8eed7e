// What JSON.parse does not say about a text. Pure.
import { parseJson } from '../../../json.ts'

export type Path = readonly (string | number)[]

/** A catalog needs four. */
const maxLevels = 100
/** The values of 50,000 plans. */
const maxValues = 5_000_000
/** More defects of names could fill the memory. */
const maxNameDefects = 1000

/** The schema ignores it in amounts. */
export const unsafeName = '__proto__'

/**
 * Reads a text before JSON.parse, which would take gigabytes for some texts, and keeps the last of several members with the same name.
 * @returns the limit that the text exceeds; and the paths of repeated names, if it is JSON.
 */
export function scanJson(json: string): { excess?: string; names: Path[] } {
  const names: Path[] = []
  /** For each level: the names of an object, and where in the array or object the scan is. */
  const levels: { known: Set<string> | undefined; at: string | number }[] = []
  let level: (typeof levels)[number] | undefined
  let values = 0
  let isName = false
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') {
      const start = index++
      while (index < json.length && json[index] !== '"') index += json[index] === '\\' ? 2 : 1
      if (!isName || !level?.known) continue
      const text = json.slice(start, index + 1)
      const name = text.includes('\\') ? String(parseJson(text)) : text.slice(1, -1)
      level.at = name
      const isWrong = level.known.has(name) || name === unsafeName
      if (isWrong && names.length < maxNameDefects) names.push(levels.map(({ at }) => at))
      level.known.add(name)
    } else if (character === ':') isName = false
    else if (character === ',') {
      values++
      isName = true
      if (typeof level?.at === 'number') level.at++
    } else if (character === '}' || character === ']') {
      levels.pop()
      level = levels.at(-1)
    } else if (character === '{' || character === '[') {
      values++
      isName = character === '{'
      level = isName ? { known: new Set(), at: '' } : { known: undefined, at: 0 }
      levels.push(level)
    }
    if (levels.length > maxLevels) return { excess: `at most ${maxLevels} levels of arrays and objects`, names }
    if (values > maxValues) return { excess: `at most ${maxValues.toLocaleString('en')} values`, names }
  }
  return { names }
}
