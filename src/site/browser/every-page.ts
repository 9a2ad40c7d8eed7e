// Runs on every page: puts the site's address into the examples, opens the search and adds the copy buttons.
import { exampleOrigin } from '../example-origin.ts'
import { addCopyButtons, makeCopyButton } from './copy-button.ts'
import { createSearchDialog } from './search.ts'

for (const element of document.querySelectorAll('[data-origin]')) element.textContent = location.origin

// On a wide screen, "On this page" is beside the text: frame.css.
const contents = document.querySelector<HTMLDetailsElement>('nav.contents details')
if (contents) contents.open = matchMedia('(min-width: 80rem)').matches

// Links within the page scroll smoothly. A page that opens at an anchor is there at once.
document.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('a[href^="#"]')) document.documentElement.classList.add('smooth')
})

// Ctrl+K and Command+K open the search. No key without a modifier does: speech input would press it (WCAG 2.1.4).
const searchKey = document.querySelector('button.search kbd')
if (searchKey && navigator.userAgent.includes('Mac')) searchKey.textContent = '⌘ K'
const openSearch = createSearchDialog()
document.querySelector('button.search')?.addEventListener('click', openSearch)
document.addEventListener('keydown', (event) => {
  if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  event.preventDefault()
  openSearch()
})

// A language that the reader chooses stays chosen, on every page and at the next visit.
try {
  for (const input of document.querySelectorAll<HTMLInputElement>('[name=language]')) {
    input.checked ||= input.value === localStorage.getItem('language')
    input.addEventListener('change', () => localStorage.setItem('language', input.value))
  }
} catch {
  // The reader's settings forbid storage.
}

addCopyButtons(document)

// "Copy page" copies the page as Markdown.
const heading = document.querySelector('.prose > h1')
const markdown = document.querySelector<HTMLLinkElement>('link[rel="alternate"][type="text/markdown"]')
if (isSecureContext && heading && markdown) {
  heading.after(makeCopyButton('copy copy-page', 'Copy page', () => copyPage(markdown.href), 'Can’t copy the page'))
}

async function copyPage(url: string): Promise<void> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`status ${response.status}`)
  const text = (await response.text()).replaceAll(/(^Address: |\]\()\//gm, `$1${location.origin}/`)
  await navigator.clipboard.writeText(text.replaceAll(exampleOrigin, location.origin))
}
