// Runs on every page: puts the site's address into examples, opens the search, and makes the copy buttons work.
import { enableCopyButtons } from './copy-button.ts'
import { createSearchDialog } from './search.ts'

for (const element of document.querySelectorAll('[data-origin]')) element.textContent = location.origin

// Opens "On this page" on a wide screen, where frame.css puts it beside the text.
const contents = document.querySelector<HTMLDetailsElement>('nav.contents details')
if (contents) contents.open = matchMedia('(min-width: 80rem)').matches

// Ctrl+K and Command+K open the search. A key alone could be pressed by speech input by mistake (WCAG 2.1.4).
const openSearch = createSearchDialog()
document.querySelector('button.search')?.addEventListener('click', openSearch)
document.addEventListener('keydown', (event) => {
  if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  event.preventDefault()
  openSearch()
})

// Remembers the chosen programming language for all pages and for the next visit.
try {
  for (const input of document.querySelectorAll<HTMLInputElement>('[name=language]')) {
    input.checked ||= input.value === localStorage.getItem('language')
    input.addEventListener('change', () => localStorage.setItem('language', input.value))
  }
} catch {
  // The reader's settings forbid storage.
}

enableCopyButtons()
