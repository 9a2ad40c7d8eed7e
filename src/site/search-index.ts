// The index of the search: one entry for each heading and each row of a table that has an ID. Node only.
import { parseTrusted } from '../json.ts'
import { readSiteFile } from './markdown.ts'
import type { SearchEntry } from './search-engine.ts'
import type { Page, Section } from './page-shell.ts'

/** Words that partners search for, by the URL of the part of a page that answers. The search would not find that part by them. */
const synonyms = parseTrusted<Record<string, string>>(readSiteFile('search-synonyms.json'))

const heading = /<(h[1-3])\b(?: [^>]*?)??(?: id="([^"]+)")?>([^]*?)<\/\1>/g
/** A row whose first cell has an ID. */
const row = /<tr>\s*<th\b[^>]* id="([^"]+)"[^>]*>([^]*?)<\/th>([^]*?)<\/tr>/g

export async function buildSearchIndex(sections: readonly Section[]): Promise<SearchEntry[]> {
  const entries = (await Promise.all(sections.flatMap(({ pages }) => pages).map(listEntries))).flat()
  for (const [url, words] of Object.entries(synonyms)) {
    const entry = entries.find((each) => each.url === url)
    if (entry === undefined) throw new Error(`No page has ${url}, for which the search has synonyms.`)
    entry.synonyms = words
  }
  return entries
}

/** Lists the entries of a page: one for each heading, and one for each row of a table with an ID. */
async function listEntries(page: Page): Promise<SearchEntry[]> {
  const body = String(await page.body).replaceAll(/<(svg|form|figure)\b[^]*?<\/\1>/g, '')
  const headings = [...body.matchAll(heading)].filter(([, tag, id]) => tag === 'h1' || id !== undefined)
  let section = ''
  return headings.flatMap((match, index) => {
    const [whole, tag, id = '', content = ''] = match
    const part = body.slice(match.index + whole.length, headings[index + 1]?.index ?? body.length)
    const text = readText(part.replaceAll(row, ' ').replaceAll(code, ''))
    const title = readText(content)
    if (tag === 'h2') section = title
    const entry: SearchEntry = {
      url: id === '' ? page.path : `${page.path}#${id}`,
      page: tag === 'h3' ? `${page.title}: ${section}` : page.title,
      title,
      text: tag === 'h1' ? `${page.description} ${text}` : text,
    }
    // A row that starts with a link only leads to another entry.
    const rows = [...part.matchAll(row)].filter(([, , first = '']) => !first.includes('<a '))
    return [entry].concat(rows.map(([, rowId = '', first = '', cells = '']) => readRow(page, rowId, first, cells)))
  })
}

function readRow(page: Page, id: string, first: string, cells: string): SearchEntry {
  const title = readText(first)
  return {
    url: `${page.path}#${id}`,
    page: page.title,
    // Only the ID of a schema's row names the schema, such as `Plan.currency`.
    title: id.endsWith(`.${title}`) ? id : title,
    text: readText(cells),
  }
}

const code = /<div class="code">[^]*?<\/div>/g

/** Returns the text of HTML, in one line. */
function readText(markup: string): string {
  return markup
    .replaceAll(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const characters: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
