// Converts Markdown pages and code samples to HTML when the site is built. Node only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import highlighter from 'highlight.js'
import { html, raw } from 'hono/html'
import { Marked } from 'marked'
import { renderCodeBlock } from './code-block.ts'
import { exampleOrigin } from './example-origin.ts'
import type { Markup } from './page-shell.ts'

/** Makes a converter for one page: the IDs of its headings and table rows must be unique. */
function createMarked(): Marked {
  const ids = new Set<string>()

  /** Returns the ID of a heading or a cell, its own or one from its text, and the content without its own ID. */
  function readId(text: string, content: string): { id: string; content: string } {
    const [, given] = [...text.matchAll(givenId)][0] ?? []
    const slug = given ?? createSlug(text)
    let id = slug
    for (let number = 2; ids.has(id); number++) id = `${slug}-${number}`
    ids.add(id)
    return { id, content: content.replace(givenId, '') }
  }

  return new Marked({
    async: false,
    renderer: {
      code: ({ text, lang = 'text' }) => renderCode(text, lang),
      heading({ tokens, depth, text }) {
        const { id, content } = readId(text, this.parser.parseInline(tokens))
        if (depth === 1) return `<h1>${content}</h1>\n`
        return `<h${depth} id="${id}"><a class="deep-link" href="#${id}">${content}</a></h${depth}>\n`
      },
      // Each row has an ID, so that the search finds it. On a phone, the cells of a wide table are below each other.
      table({ header, rows }) {
        const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`).join('')
        const body = rows
          .map(([first, ...cells]) => {
            const { id, content } = readId(first?.text ?? '', this.parser.parseInline(first?.tokens ?? []))
            const others = cells.map(({ tokens }) => `<td>${this.parser.parseInline(tokens)}</td>`)
            return `<tr><th scope="row" id="${id}">${content}</th>${others.join('')}</tr>`
          })
          .join('\n')
        const table = header.length > 2 ? '<table class="fields">' : '<table>'
        return `<div class="table" tabindex="0">${table}<thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
      },
    },
  })
}

/** What replaces a comment such as `<!-- samples -->` in a page: Markdown, or HTML, with a text for the page as Markdown. */
export type Block = string | { html: Markup; markdown: string }

/** Reads a page of src/site/pages as HTML and as Markdown. Its title is the level-1 heading. @param blocks by comment name: the blocks */
export function readProse(file: string, blocks: Record<string, Block>) {
  const source = readSiteFile(`pages/${file}`)
  /** Replaces each comment by what `choose` returns for its block. */
  const fill = (choose: (block: Block, comment: string) => string) =>
    source.replaceAll(comments, (comment, name: string) => {
      const block = blocks[name]
      if (block === undefined) throw new Error(`${file} needs the block "${name}".`)
      return choose(block, comment)
    })
  const readHtml = (name: string): Markup | string => {
    const block = blocks[name]
    return typeof block === 'object' ? block.html : ''
  }
  const markdown = fill((block) => (typeof block === 'string' ? block : block.markdown))
    // Programs that show Markdown make IDs of their own from headings.
    .replaceAll(/^(#.*) \{#([^}]+)\}$/gm, '<a id="$2"></a>\n\n$1')
    .replaceAll(givenId, '')
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${file} has no level-1 heading.`)
  const filled = fill((block, comment) => (typeof block === 'string' ? block : comment))
  // `split` also returns the group of the pattern: parts with an odd index are names of blocks with HTML.
  const parts = createMarked().parse(filled, { async: false }).split(comments)
  const body = html`<article class="prose">
    ${parts.map((part, index) => (index % 2 === 0 ? raw(part) : readHtml(part)))}
  </article>`
  return { title, body, markdown }
}

const comments = /<!-- (\w+) -->/g
/** A heading or the first cell of a row can have an ID: `### Status 200 {#listPlans-200}`. */
const givenId = / \{#([^}]+)\}/g

export function formatMarkdownTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => row.map(escapeCell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Escapes `<` outside code, where it would start a tag. `<br>` is allowed in a table. */
function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/(`[^`]*`)|<(?!br>)/g, (_, code?: string) => code ?? '\\<')
}

export function formatCode(text: string, language: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}

export function readSiteFile(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}

export function renderCode(text: string, language: string) {
  const { value } = highlighter.highlight(text.trimEnd(), { language })
  const code = value.replaceAll(exampleOrigin, `<span data-origin>${exampleOrigin}</span>`)
  return renderCodeBlock(text, code)
}

function createSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
