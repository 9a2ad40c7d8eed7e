// Cuts the scheme from an Authorization header (RFC 9110 section 11.4). Linear in time, whatever strangers send: no regular
// expression.

/** Returns what follows the scheme, or undefined for another scheme. The scheme is case-insensitive. */
export function readCredentials(header: string | undefined, scheme: string): string | undefined {
  const prefix = `${scheme} `
  if (header?.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return undefined
  return trimBlanks(header, prefix.length)
}

/** Only spaces and tabs are optional white space (RFC 9110 section 5.6.3); `trim()` drops a no-break space, too. */
function trimBlanks(text: string, from: number): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t'
  let start = from
  let end = text.length
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return text.slice(start, end)
}
