// Cuts the excerpts of search results. Pages load this file at once, but search-engine.ts only when the reader opens the search.

/** Cuts a text, at spaces, to about `length` characters around its first term, or from the start if it has none. @param terms in lower case */
export function cutExcerpt(text: string, terms: readonly string[], length: number): string {
  if (text.length <= length) return text
  const lowerText = text.toLowerCase()
  const positions = terms.map((term) => lowerText.indexOf(term)).filter((position) => position >= 0)
  const firstTermAt = positions.length > 0 ? Math.min(...positions) : 0
  // About a third of the excerpt stands before the term.
  const start = firstTermAt < length / 2 ? 0 : text.indexOf(' ', firstTermAt - length / 3) + 1
  const end = start + length >= text.length ? text.length : text.lastIndexOf(' ', start + length)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
