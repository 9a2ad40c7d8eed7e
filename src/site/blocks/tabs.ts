// One listing of a program, with a tab for each language. The Markdown of the page has all languages.
import { html } from 'hono/html'
import { formatCode, readSiteFile, renderCode, type Block } from '../markdown.ts'

interface Tab {
  /** The name of the language. start.css shows its panel, and every-page.ts remembers the choice. */
  label: string
  /** The path of the file in src/site, and below the site's address. */
  file: string
  /** The language whose syntax colors the code. */
  language: string
  /** Downloads and runs the program. */
  command: string
}

export function createTabs(tabs: readonly Tab[]): Block {
  const markdown = tabs.flatMap(({ file, language, command }) => [
    formatCode(command, 'sh'),
    formatCode(readSiteFile(file), language),
  ])
  return { html: renderTabs(tabs), markdown: markdown.join('\n\n') }
}

function renderTabs(tabs: readonly Tab[]) {
  return html`<div class="samples">
    <fieldset class="tabs">
      <legend class="visually-hidden">Language</legend>
      ${tabs.map(
        ({ label }, index) =>
          html`<label
            ><input type="radio" name="language" value="${label}" ${index === 0 && 'checked'} />${label}</label
          >`,
      )}
    </fieldset>
    ${tabs.map(
      ({ label, file, language, command }) =>
        html`<section class="panel" data-tab="${label}" aria-label="${label}">
          ${renderCode(command, 'sh')}
          <p class="file"><a href="/${file}">${file.split('/').at(-1)}</a></p>
          ${renderCode(readSiteFile(file), language)}
        </section>`,
    )}
  </div>`
}
