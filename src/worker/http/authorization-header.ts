// Cuts the scheme from an Authorization header (RFC 9110 section 11.4). Linear in time, whatever strangers send: no regular
// expression.

/** Returns what follows the scheme, '' for nothing, undefined for another scheme. The scheme is case-insensitive. */
export function cutScheme(header: string, scheme: string): string | undefined {
  const { length } = scheme
  if (header.slice(0, length).toLowerCase() !== scheme.toLowerCase()) return undefined
  return header.length === length || header[length] === ' ' ? trimBlanks(header, length) : undefined
}

/** Spaces and tabs around a value are not part of it (RFC 9110 section 5.5). `trim()` also drops a no-break space. */
function trimBlanks(text: string, from: number): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t'
  let [start, end] = [from, text.length]
  while (isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return text.slice(start, end)
}
