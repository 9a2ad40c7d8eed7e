// Redoc draws openapi.json. It tells nobody that it does, and keeps where you are in the fragment of the address.
import { find } from './dom.ts'

interface Redoc {
  init(url: string, options: { router: 'hash'; disableTelemetry: boolean }, element: Element): unknown
}

const reference = find('#reference', HTMLElement)

/** Its menu is not marked as one, a keyboard does not get to its search, and its headings skip the third level. */
function mend(drawn: Element): void {
  for (const menu of drawn.querySelectorAll('.menu-content')) {
    menu.setAttribute('role', 'navigation')
    menu.setAttribute('aria-label', 'Reference')
  }
  for (const search of drawn.querySelectorAll<HTMLElement>('[data-testid="search-trigger"]')) {
    if (search.tabIndex === 0) continue
    search.setAttribute('role', 'button')
    search.tabIndex = 0
    search.addEventListener('keydown', ({ key }) => key === 'Enter' && search.click())
  }
  for (const heading of drawn.querySelectorAll('h4')) heading.setAttribute('aria-level', '3')
  for (const heading of drawn.querySelectorAll('h5')) heading.setAttribute('aria-level', '4')
}

new MutationObserver(() => mend(reference)).observe(reference, { childList: true, subtree: true })

// It would keep what it shows in a cookie, which every request to this site and its API would bring along.
Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} })

const program = '/redoc.js'
const redoc: Redoc = await import(program)
redoc.init('/openapi.json', { router: 'hash', disableTelemetry: true }, reference)
