// Shortens values and lists of names for messages, and makes invisible characters visible.

/** Characters that JSON.stringify doesn't escape, but that are invisible or control a terminal. */
const invisibleCharacter = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** Formats a value for a message: as JSON, or as NaN, Infinity or `nothing`. Cuts it to 80 characters, and escapes invisible characters. */
export function abbreviate(value: unknown): string {
  if (value === undefined) return 'nothing'
  const json = typeof value === 'number' ? String(value) : JSON.stringify(value)
  const cutJson = json.length > 80 ? `${json.slice(0, 79)}…` : json
  return cutJson.replaceAll(
    invisibleCharacter,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Formats two texts with the same first 40 characters from shortly before their first difference, and other values as `abbreviate` does. */
export function abbreviatePair(first: unknown, second: unknown): [string, string] {
  if (typeof first !== 'string' || typeof second !== 'string') return [abbreviate(first), abbreviate(second)]
  let startLength = 0
  while (startLength < first.length && first[startLength] === second[startLength]) startLength++
  const cutSameStart = (text: string) => abbreviate(startLength < 40 ? text : `…${text.slice(startLength - 20)}`)
  return [cutSameStart(first), cutSameStart(second)]
}

const maxNames = 3

/** Names at most three, such as `gold, cash, bonds and 2 more`. */
export function nameSome(names: readonly string[]): string {
  const others = names.length - maxNames
  return `${names.slice(0, maxNames).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}
