// Copies code, or the page as Markdown, when a reader presses a copy button. Also handles buttons that "Try it" adds later.
import { exampleOrigin } from '../example-origin.ts'

export function enableCopyButtons(): void {
  const liveRegion = document.createElement('p')
  liveRegion.className = 'visually-hidden'
  liveRegion.setAttribute('role', 'status')
  document.body.append(liveRegion)

  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element && target.closest<HTMLElement>('.copy')
    if (!button) return
    copyPageOrCode(button).then(
      () => announce(button, liveRegion, 'Copied'),
      () => announce(button, liveRegion, 'Can’t copy: select the text'),
    )
  })
}

/** Copies the page, or the code before the button. Rejects if the browser forbids it, or if the Markdown of the page can't be loaded. */
async function copyPageOrCode(button: HTMLElement): Promise<void> {
  const isPage = button.matches('.copy-page')
  await navigator.clipboard.writeText(
    isPage ? await readMarkdown() : (button.previousElementSibling?.textContent ?? ''),
  )
}

/** Loads the page as Markdown. Puts the origin of this site into its links and examples. @throws Error if the page can't be loaded. */
async function readMarkdown(): Promise<string> {
  const link = document.querySelector<HTMLLinkElement>('link[rel="alternate"][type="text/markdown"]')
  const response = await fetch(link?.href ?? '')
  if (!response.ok) throw new Error(`status ${response.status}`)
  const text = (await response.text()).replaceAll(/(^Address: |\]\()\//gm, `$1${location.origin}/`)
  return text.replaceAll(exampleOrigin, location.origin)
}

/** Shows a message in place of the button's label for two seconds. Screen readers read it from the live region. */
function announce(button: HTMLElement, liveRegion: HTMLElement, message: string): void {
  // A second click may find a message in place of the label, so the first click stores the label.
  const label = (button.dataset['label'] ??= button.textContent)
  button.textContent = message
  liveRegion.textContent = message
  setTimeout(() => {
    button.textContent = label
    liveRegion.textContent = ''
  }, 2000)
}
