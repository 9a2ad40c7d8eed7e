/** Whether a parsed JSON value is an object: not null and not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @returns what is at a path in a parsed JSON value; undefined when there is nothing. */
export function readPath(value: unknown, ...path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((outer, name) => Reflect.get(Object(outer), name), value)
}
