// Finds the entries of the search index that match a query. Runs in the browser.
import MiniSearch from 'minisearch'

/** A page, or a part of a page that a link can point to. */
export interface SearchEntry {
  /** The URL of the page or the part, such as `/tokens#get-a-token`. */
  url: string
  /** The page's title. If the part is below a heading of level 2, also that heading. */
  page: string
  title: string
  text: string
  /** Other words for the subject of the part. The search finds the part by them, but does not show them. */
  synonyms?: string
}

export interface SearchResult {
  entry: SearchEntry
  /** The stems of the words that the query matched, such as `remov`, in lower case. */
  terms: string[]
}

/** Returns a function that lists the entries that match any word of a query, the best first. */
export function createSearchEngine(entries: readonly SearchEntry[]): (query: string) => SearchResult[] {
  const indexedStems = new Set<string>()
  const index = new MiniSearch<SearchEntry>({
    idField: 'url',
    fields: ['title', 'page', 'text', 'synonyms'],
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u),
    processTerm: (term) => {
      const stems = listStems(term)
      for (const each of stems) indexedStems.add(each)
      return stems
    },
  })
  index.addAll(entries)
  const entriesByUrl = new Map(entries.map((entry) => [entry.url, entry]))
  return (query) => {
    const results = index.search(query, {
      boost: { title: 4, synonyms: 3, page: 2 },
      // Prefers guides, because they explain a subject that the reference only mentions.
      boostDocument: (url) => (String(url).startsWith('/reference') ? 0.5 : 1),
      // Most entries contain these words, so they say little about the subject.
      boostTerm: (term) => (commonWords.has(term) ? 0.2 : 1),
      prefix: true,
      // Allows one typing error in about five letters, but none in a short word or in a word that a page has.
      fuzzy: (term) => (term.length > 3 && !indexedStems.has(term) ? 0.2 : false),
      // A query is not split at capitals, unlike the index: otherwise "lockIn" would also match every "in".
      processTerm: (term) => (questionWords.has(term.toLowerCase()) ? null : stem(term)),
    })
    // Ranks an entry that has all words of the query above an entry that repeats one word: the more words match, the higher the rank.
    const computeRank = ({ score, queryTerms }: (typeof results)[number]) => score * queryTerms.length
    return results
      .toSorted((one, other) => computeRank(other) - computeRank(one))
      .flatMap(({ id, terms }) => {
        const entry = entriesByUrl.get(String(id))
        return entry ? [{ entry, terms }] : []
      })
  }
}

/** Words of a query that say nothing about its subject. */
const questionWords = new Set(
  'a after am an and are as at be before by can could do does for from get getting have how i if in is it mean means my need not of on one or our should so that the there this to use was we what when where which who why will with would you your'.split(
    ' ',
  ),
)

/** Stems that most entries contain. */
const commonWords = new Set(['plan', 'fund', 'list', 'show', 'api'])

/** Lists the stems of a term and of its parts between capitals, so that "lockin", "period" and "lock in" find `lockInPeriod`. */
function listStems(term: string): string[] {
  const parts = term.split(/(?<=[a-z0-9])(?=[A-Z])/)
  return [...new Set([term, ...parts].map(stem))]
}

/** Removes the ending of an English word: "remove", "removes", "removed" and "removing" become "remov". */
function stem(word: string): string {
  return word.toLowerCase().replace(/(?<=.{3})(?:ing|ions?|ies|ied|ed|es|e|y|(?<!s)s)$/, '')
}
