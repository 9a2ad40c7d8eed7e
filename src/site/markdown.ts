// Prose and code to HTML, while the site is built. Node only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import highlighter from 'highlight.js'
import { html, raw } from 'hono/html'
import { Marked } from 'marked'
import type { Markup } from './page-shell.ts'

/** What stands for the address of the site in examples; src/site/browser/every-page.ts puts the real one there. */
export const exampleOrigin = 'https://catalog.example.com'

const marked = new Marked({
  async: false,
  renderer: {
    // A file of src/site instead of the text: ```ts file=client/investment-plans.ts
    code({ text, lang = '' }) {
      const [language = 'text', ...settings] = lang.split(' ')
      const file = settings.find((setting) => setting.startsWith('file='))?.slice('file='.length)
      return highlight(file === undefined ? text : readSiteFile(file), language)
    },
    heading({ tokens, depth, text }) {
      const content = this.parser.parseInline(tokens)
      return depth === 1 ? `<h1>${content}</h1>\n` : `<h${depth} id="${slugOf(text)}">${content}</h${depth}>\n`
    },
    table({ header, rows }) {
      const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`).join('')
      const body = rows
        .map((cells) => `<tr>${cells.map(({ tokens }) => `<td>${this.parser.parseInline(tokens)}</td>`).join('')}</tr>`)
        .join('\n')
      return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
    },
  },
})

function renderMarkdown(text: string): Markup {
  return raw(marked.parse(text))
}

/** A page of prose, and its heading of the first level. */
export function readProse(file: string): { title: string; body: Markup } {
  const text = readSiteFile(`pages/${file}`)
  const title = /^# (.+)$/m.exec(text)?.[1]
  if (title === undefined) throw new Error(`${file} has no heading of the first level.`)
  return { title, body: html`<article class="prose">${renderMarkdown(text)}</article>` }
}

export function renderCode(text: string, language: string): Markup {
  return raw(highlight(text, language))
}

export function readSiteFile(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}

/** A reader with a keyboard scrolls it, so that it takes the focus. */
function highlight(text: string, language: string): string {
  const { value } = highlighter.highlight(text.trimEnd(), { language })
  const code = value.replaceAll(exampleOrigin, `<span data-origin>${exampleOrigin}</span>`)
  return `<pre tabindex="0" data-language="${language}"><code>${code}</code></pre>\n`
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
