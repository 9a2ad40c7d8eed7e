// The search dialog. It loads the search engine and the index when the reader opens it, and keeps text that is typed meanwhile.
import { support } from '../../api/promises.ts'
import { parseTrusted } from '../../json.ts'
import type { SearchEntry, SearchResult } from '../search-engine.ts'
import { cutExcerpt } from '../search-excerpt.ts'

const maxResults = 12
const excerptLength = 140

/** Returns the function that opens the dialog. */
export function createSearchDialog(): () => void {
  // In an input of type "search", the first Escape would only clear the text.
  const input = make('input', { role: 'searchbox', placeholder: 'Search all pages', autocomplete: 'off' })
  input.spellcheck = false
  input.setAttribute('aria-label', 'Search all pages')
  const status = make('p', { role: 'status' })
  const list = make('ul', {})
  const dialog = make('dialog', { className: 'search-dialog' })
  dialog.setAttribute('aria-label', 'Search')
  dialog.append(input, status, list)
  document.body.append(dialog)

  let engine: ReturnType<typeof loadEngine> | undefined

  /** Shows the results of the input's text. */
  async function show(): Promise<void> {
    const query = input.value.trim()
    if (!engine) status.textContent = 'Loading the search …'
    try {
      const find = await (engine ??= loadEngine())
      // The text changed while the index was loading.
      if (query !== input.value.trim()) return
      const results = query === '' ? [] : find(query)
      list.replaceChildren(...results.slice(0, maxResults).map(renderResult))
      status.replaceChildren(...describeCount(query, results.length))
    } catch {
      engine = undefined
      list.replaceChildren()
      // A deploy may have replaced the script, for example.
      status.textContent = 'The search can’t be loaded. Check your connection, or reload the page.'
    }
  }

  input.addEventListener('input', () => void show())
  dialog.addEventListener('keydown', (event) => {
    // Enter and arrows choose among the candidates of an input method.
    if (event.isComposing) return
    const links = [...list.querySelectorAll('a')]
    if (event.key === 'Enter' && event.target === input) links[0]?.click()
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    const stops = [input, ...links]
    const step = event.key === 'ArrowDown' ? 1 : -1
    const current = stops.findIndex((stop) => stop === document.activeElement)
    stops.at((current + step) % stops.length)?.focus()
  })
  // A click beside the dialog's content closes it, and so does a link: its target may be on this page.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest('a'))) dialog.close()
  })

  return () => {
    if (dialog.open) return
    dialog.showModal()
    input.select()
    void show()
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
  const address = make('a', { href: `mailto:${support.email}`, textContent: support.email })
  return ['No page matches. Try fewer or other words, or ask ', address, '.']
}

function renderResult({ entry, terms }: SearchResult): HTMLElement {
  const link = make('a', { href: entry.url })
  const title = make('strong', {})
  title.append(...markTerms(entry.title, terms))
  const excerpt = make('span', { className: 'excerpt' })
  excerpt.append(...markTerms(cutExcerpt(entry.text, terms, excerptLength), terms))
  link.append(title, ' ')
  if (entry.page !== entry.title) link.append(make('span', { className: 'page', textContent: entry.page }), ' ')
  link.append(excerpt)
  const item = make('li', {})
  item.append(link)
  return item
}

/** Splits the text into pieces: each word that begins with one of the terms is a `<mark>`. */
function markTerms(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  // Terms are letters and digits only.
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])((?:${terms.join('|')})[\\p{L}\\p{N}]*)`, 'iu'))
  return parts.map((part, index) => (index % 2 === 1 ? make('mark', { textContent: part }) : part))
}

/** Creates an element that has these properties. */
function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
): HTMLElementTagNameMap[Name] {
  return Object.assign(document.createElement(name), properties)
}
