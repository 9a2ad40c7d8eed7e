// Cuts the excerpts of search results. It is not in search-engine.ts, which loads later.

/** Cuts a text, at spaces, to about `length` characters around the first term in it. @param terms in lower case */
export function cutExcerpt(text: string, terms: readonly string[], length: number): string {
  if (text.length <= length) return text
  const lower = text.toLowerCase()
  const positions = terms.map((term) => lower.indexOf(term)).filter((position) => position >= 0)
  const first = positions.length > 0 ? Math.min(...positions) : 0
  const from = first < length / 2 ? 0 : text.indexOf(' ', first - length / 3) + 1
  const to = from + length >= text.length ? text.length : text.lastIndexOf(' ', from + length)
  return `${from > 0 ? '… ' : ''}${text.slice(from, to)}${to < text.length ? ' …' : ''}`
}
