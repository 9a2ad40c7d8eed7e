// Converts Markdown pages and code samples to HTML when the site is built. Node only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import highlighter from 'highlight.js'
import { html, raw } from 'hono/html'
import { Marked } from 'marked'
import { exampleOrigin } from './example-origin.ts'
import type { Markup } from './page-shell.ts'

/** Makes a converter for one page, because no two of its headings and table rows get the same ID. */
function createMarked(): Marked {
  const ids = new Set<string>()

  function createId(text: string): string {
    const slug = createSlug(text)
    let id = slug
    for (let number = 2; ids.has(id); number++) id = `${slug}-${number}`
    ids.add(id)
    return id
  }

  return new Marked({
    async: false,
    renderer: {
      code: ({ text, lang = 'text' }) => highlight(text, lang),
      heading({ tokens, depth, text }) {
        const content = this.parser.parseInline(tokens)
        return depth === 1 ? `<h1>${content}</h1>\n` : `<h${depth} id="${createId(text)}">${content}</h${depth}>\n`
      },
      // Each row has an ID, so that the search finds it.
      table({ header, rows }) {
        const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`).join('')
        const body = rows
          .map(([first, ...cells]) => {
            const id = createId(first?.text ?? '')
            const name = `<th scope="row" id="${id}">${this.parser.parseInline(first?.tokens ?? [])}</th>`
            return `<tr>${name}${cells.map(({ tokens }) => `<td>${this.parser.parseInline(tokens)}</td>`).join('')}</tr>`
          })
          .join('\n')
        return `<div class="table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
      },
    },
  })
}

/**
 * Reads a page of src/site/pages; its title is the level-1 heading.
 * @param blocks Markdown by name: `<!-- values -->` stands for the block "values".
 */
export function readProse(file: string, blocks: Record<string, string> = {}) {
  const markdown = readSiteFile(`pages/${file}`)
    .replaceAll(/<!-- (\w+) -->/g, (_, name: string) => {
      const block = blocks[name]
      if (block === undefined) throw new Error(`${file} needs the block "${name}".`)
      return block
    })
    .replaceAll(/^<!-- .* -->\n\n?/gm, '')
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${file} has no level-1 heading.`)
  return { title, body: html`<article class="prose">${raw(createMarked().parse(markdown))}</article>`, markdown }
}

/** Markdown without blocks, such as a description with `code` in it. */
export function renderInline(text: string): Markup {
  return raw(createMarked().parseInline(text))
}

export function renderCode(text: string, language: string): Markup {
  return raw(highlight(text, language))
}

export function readSiteFile(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}

/** The scopes of highlight.js that styles.css colors, by their color. */
const colors: Record<string, string> = Object.fromEntries(
  Object.entries({
    soft: ['comment', 'meta'],
    key: ['attr', 'attribute', 'property', 'title', 'variable'],
    text: ['string'],
    word: ['keyword', 'literal', 'number', 'built_in', 'type'],
  }).flatMap(([color, scopes]) => scopes.map((scope) => [scope, color])),
)

/** Shortens the markup of highlight.js: a page has more than a thousand spans. */
function shorten(markup: string): string {
  return markup
    .replaceAll(/<span class="hljs-(\w+)[^"]*">/g, (_, scope: string) => {
      const color = colors[scope]
      return color === undefined ? '<i>' : `<i class="${color}">`
    })
    .replaceAll('</span>', '</i>')
}

/** The block takes the focus, so that it can be scrolled with the keyboard. */
function highlight(text: string, language: string): string {
  const { value } = highlighter.highlight(text.trimEnd(), { language })
  const code = shorten(value).replaceAll(exampleOrigin, `<span data-origin>${exampleOrigin}</span>`)
  return `<pre tabindex="0" data-language="${language}"><code>${code}</code></pre>\n`
}

function createSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
