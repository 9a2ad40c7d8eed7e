// Converts Markdown pages and code samples to HTML when the site is built.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import highlighter from 'highlight.js'
import { html, raw } from 'hono/html'
import { Marked } from 'marked'
import { renderCodeBlock } from './code-block.ts'
import { exampleOrigin } from './example-origin.ts'
import type { Markup } from './page-shell.ts'

/** Makes a converter for one page, because IDs of headings and table rows must be unique in a page. */
function createMarked(): Marked {
  const ids = new Set<string>()

  /**
   * Returns an ID for a heading or a row: the ID in its notation `{#id}`, otherwise one made from its text. If the page has this ID already,
   * adds a number such as `-2`. `content` is `markup` without the notation.
   * @param text the heading, or the first cell of the row, in Markdown
   * @param markup this text in HTML
   */
  function takeId(text: string, markup: string): { id: string; content: string } {
    const [notation] = text.matchAll(idNotation)
    const wantedId = notation?.[1] ?? createSlug(text)
    let id = wantedId
    for (let number = 2; ids.has(id); number++) id = `${wantedId}-${number}`
    ids.add(id)
    return { id, content: markup.replace(idNotation, '') }
  }

  return new Marked({
    async: false,
    renderer: {
      code: ({ text, lang = 'text' }) => renderCode(text, lang),
      heading({ tokens, depth, text }) {
        const { id, content } = takeId(text, this.parser.parseInline(tokens))
        if (depth === 1) return `<h1>${content}</h1>\n`
        return `<h${depth} id="${id}"><a class="deep-link" href="#${id}">${content}</a></h${depth}>\n`
      },
      // Each row has an ID, because a result of the search links to it.
      table({ header, rows }) {
        const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`).join('')
        const body = rows
          .map(([first, ...cells]) => {
            const { id, content } = takeId(first?.text ?? '', this.parser.parseInline(first?.tokens ?? []))
            const otherCells = cells.map(({ tokens }) => `<td>${this.parser.parseInline(tokens)}</td>`)
            return `<tr><th scope="row" id="${id}">${content}</th>${otherCells.join('')}</tr>`
          })
          .join('\n')
        // text.css styles the second column of such a table like the type of a field.
        const table = header.length > 2 ? '<table class="fields">' : '<table>'
        return `<div class="table" tabindex="0">${table}<thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
      },
    },
  })
}

/** Replaces a comment such as `<!-- samples -->` in a page: either Markdown, or HTML together with a text for the Markdown version. */
export type Block = string | { html: Markup; markdown: string }

/** Reads a page as HTML and as Markdown. @param blocks by the name in a comment @throws Error if a block or the title is missing */
export function readProse(file: string, blocks: Record<string, Block>) {
  const source = readSiteFile(`pages/${file}`)
  const replaceComments = (formatBlock: (block: Block, comment: string) => string) =>
    source.replaceAll(comments, (comment, name: string) => {
      const block = blocks[name]
      if (block === undefined) throw new Error(`${file} needs the block "${name}".`)
      return formatBlock(block, comment)
    })
  const markdown = replaceComments((block) => (typeof block === 'string' ? block : block.markdown))
    // Standard Markdown has no notation for the ID of a heading, so an element before the heading has the ID.
    .replaceAll(/^(#.*) \{#([^}]+)\}$/gm, '<a id="$2"></a>\n\n$1')
    .replaceAll(idNotation, '')
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${file} has no level-1 heading.`)
  // Comments for blocks of HTML stay until the Markdown is converted.
  const withMarkdownBlocks = replaceComments((block, comment) => (typeof block === 'string' ? block : comment))
  // `split` also returns the group of the pattern: parts with an odd index are names of blocks of HTML.
  const parts = createMarked().parse(withMarkdownBlocks, { async: false }).split(comments)
  const body = html`<article class="prose">
    ${parts.map((part, index) => {
      const block = blocks[part]
      return index % 2 === 1 && typeof block === 'object' ? block.html : raw(part)
    })}
  </article>`
  return { title, body, markdown }
}

const comments = /<!-- (\w+) -->/g
/** Gives an ID to a heading, or to a row in its first cell: `### Status 200 {#listPlans-200}`. */
const idNotation = / \{#([^}]+)\}/g

export function formatMarkdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => row.map(escapeCell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Escapes `|`, which would end the cell, and `<` outside code, which would start a tag. Keeps `<br>`. */
function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/(`[^`]*`)|<(?!br>)/g, (_, code?: string) => code ?? '\\<')
}

export function formatCode(text: string, language: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}

export function readSiteFile(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}

/** Renders code with colors. In the browser, every-page.ts replaces the example origin by the origin of the page. */
export function renderCode(text: string, language: string) {
  const { value: coloredMarkup } = highlighter.highlight(text.trimEnd(), { language })
  const markup = coloredMarkup.replaceAll(exampleOrigin, `<span data-origin>${exampleOrigin}</span>`)
  return renderCodeBlock(text, markup)
}

/** Makes the ID of a heading or a row without `{#id}` from its text: `Plan list` becomes `plan-list`. */
function createSlug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
