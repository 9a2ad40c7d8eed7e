// A block of code with its copy button, which browser/copy-button.ts serves: when the site is built, and in the browser. Pure.
import { raw } from 'hono/html'

/** The code takes the focus, so that it can be scrolled with the keyboard. @param markup of `text`, with its colors. */
export function renderCodeBlock(text: string, markup = escapeText(text)) {
  const label = escapeText(`Copy ${text.split('\n', 1)[0]}`)
  const button = `<button class="copy" type="button" aria-label="${label}">Copy</button>`
  return raw(`<div class="code"><pre tabindex="0"><code>${markup}</code></pre>${button}</div>\n`)
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}
