// A program in several languages, with a tab for each. The Markdown of the page lists the program in all languages.
import { html } from 'hono/html'
import { formatCode, readSiteFile, renderCode, type Block } from '../markdown.ts'

interface Tab {
  /** The name of the language. For a new label, add a rule to start.css, which shows the panel. */
  label: string
  /** The path of the file in src/site, and below the site's address. */
  file: string
  /** The name of the language for highlight.js, which colors the code. */
  language: string
  /** The shell commands that download and run the program. */
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
