// Finds the entries of the search index that match a query. Runs in the browser. Pure.
import MiniSearch from 'minisearch'

/** A page, or a part of a page that a link can point to. */
export interface SearchEntry {
  /** The URL of the page or the part, such as `/tokens#get-a-token`. */
  url: string
  /** The page's title, and the heading above if there is one. */
  page: string
  title: string
  text: string
  /** Other words for its subject. Results don't show them. */
  synonyms?: string
}

export interface SearchResult {
  entry: SearchEntry
  /** The words of the index that the query matched, in lower case. */
  terms: string[]
}

/** Returns a function that lists the entries with any of the words, the best first. */
export function createSearchEngine(entries: readonly SearchEntry[]): (query: string) => SearchResult[] {
  const known = new Set<string>()
  const index = new MiniSearch<SearchEntry>({
    idField: 'url',
    fields: ['title', 'page', 'text', 'synonyms'],
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u),
    processTerm: (term) => {
      const terms = listTerms(term)
      for (const each of terms) known.add(each)
      return terms
    },
  })
  index.addAll(entries)
  const byUrl = new Map(entries.map((entry) => [entry.url, entry]))
  return (query) => {
    const results = index.search(query, {
      boost: { title: 4, synonyms: 3, page: 2 },
      // Prefers guides, which explain, to the reference, which mentions.
      boostDocument: (url) => (String(url).startsWith('/reference') ? 0.5 : 1),
      // Most entries contain these words, so they say little about the subject.
      boostTerm: (term) => (commonWords.has(term) ? 0.2 : 1),
      prefix: true,
      // Allows one or two typing errors, but not in a short word or a word that a page has.
      fuzzy: (term) => (term.length > 3 && !known.has(term) ? 0.2 : false),
      // Only the index splits names at capitals: otherwise "lockIn" would also match every "in".
      processTerm: (term) => (questionWords.has(term.toLowerCase()) ? null : stem(term)),
    })
    // Puts an entry with all words before an entry that repeats one word. MiniSearch already multiplies by this number once.
    const rank = ({ score, queryTerms }: (typeof results)[number]) => score * queryTerms.length
    return results
      .toSorted((one, other) => rank(other) - rank(one))
      .flatMap(({ id, terms }) => {
        const entry = byUrl.get(String(id))
        return entry ? [{ entry, terms }] : []
      })
  }
}

/** The words that say nothing about the subject of a question. */
const questionWords = new Set(
  'a after am an and are as at be before by can could do does for from get getting have how i if in is it mean means my need not of on one or our should so that the there this to use was we what when where which who why will with would you your'.split(
    ' ',
  ),
)

const commonWords = new Set(['plan', 'fund', 'list', 'show', 'api'])

/** Lists the stems of a term and of its parts, so that "lockin", "period" and "lock in" find `lockInPeriod`. */
function listTerms(term: string): string[] {
  const parts = term.split(/(?<=[a-z0-9])(?=[A-Z])/)
  return [...new Set([term, ...parts].map(stem))]
}

/** "remove", "removes", "removed" and "removing" have the same stem, which all of them start with. */
function stem(word: string): string {
  return word.toLowerCase().replace(/(?<=.{3})(?:ing|ions?|ies|ied|ed|es|e|y|(?<!s)s)$/, '')
}
