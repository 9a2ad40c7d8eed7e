// Finds the entries of the search index that match a query. Runs in the browser. Pure.
import MiniSearch from 'minisearch'

/** A page, or a part of a page that a link can point to. */
export interface SearchEntry {
  /** For example `/tokens#get-a-token`. */
  url: string
  /** The page's title, and the heading above if there is one. */
  page: string
  title: string
  text: string
  /** The names in the code. Results don't show them. */
  names: string
  /** Other words for its subject. Results don't show them. */
  synonyms?: string
}

export interface SearchResult {
  entry: SearchEntry
  /** The words of the index that the query matched, in lower case. */
  terms: string[]
}

/** Returns a function that lists the matching entries, the best first. */
export function createSearchEngine(entries: readonly SearchEntry[]): (query: string) => SearchResult[] {
  const index = new MiniSearch<SearchEntry>({
    idField: 'url',
    fields: ['title', 'page', 'text', 'names', 'synonyms'],
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u),
    processTerm: listTerms,
  })
  index.addAll(entries)
  const byUrl = new Map(entries.map((entry) => [entry.url, entry]))
  const find = (query: string, combineWith: 'AND' | 'OR', readTerm: (term: string) => string | null) =>
    index.search(query, {
      combineWith,
      boost: { title: 4, synonyms: 2, page: 2, names: 0.5 },
      // A guide explains what many parts of the reference only mention.
      boostDocument: (url) => (String(url).startsWith('/reference') ? 0.5 : 1),
      prefix: true,
      // Allows one or two typing errors, but none in a short word.
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      // Only the index splits names at capitals: "lockIn" is to match `lockInPeriod` as its prefix, and not every "in".
      processTerm: readTerm,
    })
  return (query) => {
    const best = [
      () => find(query, 'AND', readWord),
      () => find(query, 'AND', readStem),
      () => find(query, 'OR', readWord),
    ]
    return (best.map((attempt) => attempt()).find((results) => results.length > 0) ?? []).flatMap(({ id, terms }) => {
      const entry = byUrl.get(String(id))
      return entry ? [{ entry, terms }] : []
    })
  }
}

const questionWords = new Set(
  'a after am an and are be before can could do does for from get getting have how i if in is it mean means my need not of on or our should that the there this to use was we what when where which who why will with would you your'.split(
    ' ',
  ),
)

/** Returns null for a word that says nothing about the subject of a question. */
function readWord(term: string): string | null {
  const word = term.toLowerCase()
  return questionWords.has(word) ? null : word
}

/** "deprecated" and "deprecation" have the same stem, which is a prefix of both. */
function readStem(term: string): string | null {
  return readWord(term)?.replace(/(?<=.{3})(?:ing|ion|ed|s)$/, '') ?? null
}

/** `lockInPeriod` is found by "lockin", by "period", and by "lock in". */
function listTerms(term: string): string[] {
  const parts = term.split(/(?<=[a-z0-9])(?=[A-Z])/)
  return [...new Set([term, ...parts])].map((each) => each.toLowerCase())
}
