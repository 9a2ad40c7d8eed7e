// Draws openapi.json with Redoc, which keeps the current section in the URL fragment.
import { find } from './dom.ts'

interface Redoc {
  init(url: string, options: { router: 'hash'; disableTelemetry: boolean }, element: Element): unknown
}

const reference = find('#reference', HTMLElement)

/** Redoc's menu has no role, its search can't be reached with the keyboard, and its headings skip level 3. */
function fixAccessibility(): void {
  for (const menu of reference.querySelectorAll('.menu-content')) {
    menu.setAttribute('role', 'navigation')
    menu.setAttribute('aria-label', 'Reference')
  }
  for (const search of reference.querySelectorAll<HTMLElement>('[data-testid="search-trigger"]')) {
    if (search.tabIndex === 0) continue
    search.setAttribute('role', 'button')
    search.tabIndex = 0
    search.addEventListener('keydown', ({ key }) => key === 'Enter' && search.click())
  }
  for (const heading of reference.querySelectorAll('h4')) heading.setAttribute('aria-level', '3')
  for (const heading of reference.querySelectorAll('h5')) heading.setAttribute('aria-level', '4')
}

new MutationObserver(fixAccessibility).observe(reference, { childList: true, subtree: true })

// Disables cookies: Redoc would store its state in one, which the browser would then send with every API request.
Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} })

// A variable keeps esbuild from resolving the import and bundling Redoc.
const redocUrl = '/redoc.js'
const redoc: Redoc = await import(redocUrl)
redoc.init('/openapi.json', { router: 'hash', disableTelemetry: true }, reference)
