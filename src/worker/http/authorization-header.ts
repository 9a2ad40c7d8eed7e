/**
 * Cuts the scheme, in any case, from an Authorization header (RFC 9110 section 11.4).
 * @returns the rest of the header, undefined for another scheme
 */
export function cutScheme(header: string, scheme: string): string | undefined {
  const end = scheme.length
  if (header.slice(0, end).toLowerCase() !== scheme.toLowerCase()) return undefined
  if (header.length === end) return ''
  // Linear in time, whatever strangers send: the pattern is anchored.
  return header[end] === ' ' ? header.slice(end).replace(/^ +/, '') : undefined
}
