// Renders a block of code with a copy button: when the site is built, and in the browser on "Try it".
import { raw } from 'hono/html'

/** Renders a text as a block that can have the focus: then the keyboard scrolls it. @param markup the text as HTML, such as with colors */
export function renderCodeBlock(text: string, markup = escapeHtml(text)) {
  const label = escapeHtml(`Copy ${text.split('\n', 1)[0]}`)
  const button = `<button class="copy" type="button" aria-label="${label}">Copy</button>`
  return raw(`<div class="code"><pre tabindex="0"><code>${markup}</code></pre>${button}</div>\n`)
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}
