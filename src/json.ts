// Reads parsed JSON whose shape is not known.

/** Tells if a parsed JSON value is an object: not null and not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON that this project or a tool of it wrote: trusts its shape, and throws if it is not JSON. For other texts, use `parseJson`. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the shape that it trusts
export function parseTrusted<Shape>(text: string): Shape {
  const value: unknown = JSON.parse(text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as Shape
}

/** @returns what is at a path in a parsed JSON value; undefined when there is nothing. */
export function readPath(value: unknown, ...path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (outer, name) => (typeof outer === 'object' && outer !== null ? Reflect.get(outer, name) : undefined),
    value,
  )
}
