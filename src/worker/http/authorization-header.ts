/** Removes the scheme, in lower or upper case, and the spaces after it (RFC 9110 section 11.4). @returns the rest, undefined for another scheme */
export function cutScheme(header: string, scheme: string): string | undefined {
  const end = scheme.length
  if (header.slice(0, end).toLowerCase() !== scheme.toLowerCase()) return undefined
  if (header.length === end) return ''
  if (header[end] !== ' ') return undefined
  let start = end
  while (header[start] === ' ') start++
  return header.slice(start)
}
