// The search dialog. It loads the search engine and the index when the reader opens it. The reader can type while they load.
import { support } from '../../api/promises.ts'
import { parseTrusted } from '../../json.ts'
import type { SearchEntry, SearchResult } from '../search-engine.ts'
import { cutExcerpt } from '../search-excerpt.ts'

const maxResults = 12
const excerptCharacters = 140

/** Adds the dialog to the page, and returns the function that opens it. */
export function createSearchDialog(): () => void {
  // In an input of type "search", the first Escape would only clear the text.
  const input = createElement('input', { role: 'searchbox', placeholder: 'Search all pages', autocomplete: 'off' })
  input.spellcheck = false
  input.setAttribute('aria-label', 'Search all pages')
  const status = createElement('p', { role: 'status' })
  const list = createElement('ul', {})
  const dialog = createElement('dialog', { className: 'search-dialog' })
  dialog.setAttribute('aria-label', 'Search')
  dialog.append(input, status, list)
  document.body.append(dialog)

  /** Undefined before the first use, and after a failure. */
  let loadingEngine: ReturnType<typeof loadEngine> | undefined

  /** Shows the results for the text in the input. Sets `loadingEngine` at its first call, and again after a failure. */
  async function showResults(): Promise<void> {
    const query = input.value.trim()
    if (!loadingEngine) status.textContent = 'Loading the search …'
    try {
      const search = await (loadingEngine ??= loadEngine())
      // The reader changed the text while the engine was loading: the newer call shows its results.
      if (query !== input.value.trim()) return
      const results = query === '' ? [] : search(query)
      list.replaceChildren(...results.slice(0, maxResults).map(renderResult))
      status.replaceChildren(...describeCount(query, results.length))
    } catch {
      loadingEngine = undefined
      list.replaceChildren()
      // For example, a deploy has removed the script that this page would load.
      status.textContent = 'The search can’t be loaded. Check your connection, or reload the page.'
    }
  }

  input.addEventListener('input', () => void showResults())
  dialog.addEventListener('keydown', (event) => {
    // While an input method composes a character, Enter and arrows choose among its suggestions.
    if (event.isComposing) return
    const links = [...list.querySelectorAll('a')]
    if (event.key === 'Enter' && event.target === input) links[0]?.click()
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    const focusable = [input, ...links]
    const step = event.key === 'ArrowDown' ? 1 : -1
    const focusedIndex = focusable.findIndex((element) => element === document.activeElement)
    // From the input, the arrow up leads to the last link: `at` takes -1.
    focusable.at((focusedIndex + step) % focusable.length)?.focus()
  })
  // A click outside the content closes the dialog. A link closes it, too, because the link may lead to a part of this page.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest('a'))) dialog.close()
  })

  return () => {
    if (dialog.open) return
    dialog.showModal()
    input.select()
    void showResults()
  }
}

async function loadEngine() {
  const [{ createSearchEngine }, response] = await Promise.all([
    import('../search-engine.ts'),
    fetch('/search-index.json'),
  ])
  if (!response.ok) throw new Error(`status ${response.status}`)
  return createSearchEngine(parseTrusted<SearchEntry[]>(await response.text()))
}

function describeCount(query: string, count: number): (string | HTMLElement)[] {
  if (query === '') return ['Arrow keys choose a result, Enter opens it, Escape closes the search.']
  if (count === 1) return ['1 result']
  if (count > 1) return [`${count > maxResults ? `The best ${maxResults} of ${count}` : count} results`]
  const address = createElement('a', { href: `mailto:${support.email}`, textContent: support.email })
  return ['No page matches. Try fewer or other words, or ask ', address, '.']
}

function renderResult({ entry, terms }: SearchResult): HTMLElement {
  const link = createElement('a', { href: entry.url })
  const title = createElement('strong', {})
  title.append(...markTerms(entry.title, terms))
  const excerpt = createElement('span', { className: 'excerpt' })
  excerpt.append(...markTerms(cutExcerpt(entry.text, terms, excerptCharacters), terms))
  link.append(title, ' ')
  if (entry.page !== entry.title)
    link.append(createElement('span', { className: 'page', textContent: entry.page }), ' ')
  link.append(excerpt)
  const item = createElement('li', {})
  item.append(link)
  return item
}

/** Splits a text so that each word that begins with a term is a `<mark>` of its own. @param terms letters and digits only */
function markTerms(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  // `split` also returns the group of the pattern: parts with an odd index are words to mark.
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])((?:${terms.join('|')})[\\p{L}\\p{N}]*)`, 'iu'))
  return parts.map((part, index) => (index % 2 === 1 ? createElement('mark', { textContent: part }) : part))
}

function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
): HTMLElementTagNameMap[Name] {
  return Object.assign(document.createElement(name), properties)
}
