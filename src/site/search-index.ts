// Makes the index of the search: one entry for each heading, and for each row of a table that has an ID.
import { parseTrusted } from '../json.ts'
import { readSiteFile } from './markdown.ts'
import type { SearchEntry } from './search-engine.ts'
import type { Page, Section } from './page-shell.ts'

/** By the URL of a part of a page: words that partners may search for and that this part does not contain. */
const synonyms = parseTrusted<Record<string, string>>(readSiteFile('search-synonyms.json'))

/** A heading, as its tag, its ID and its content. */
const heading = /<(h[1-3])\b(?: [^>]*?)??(?: id="([^"]+)")?>([^]*?)<\/\1>/g
/** A row whose first cell has an ID, as this ID, the content of the first cell, and the other cells. */
const row = /<tr>\s*<th\b[^>]* id="([^"]+)"[^>]*>([^]*?)<\/th>([^]*?)<\/tr>/g

export async function buildSearchIndex(sections: readonly Section[]): Promise<SearchEntry[]> {
  const entries = (await Promise.all(sections.flatMap(({ pages }) => pages).map(listEntries))).flat()
  for (const [url, words] of Object.entries(synonyms)) {
    const entry = entries.find((each) => each.url === url)
    if (entry === undefined) throw new Error(`search-synonyms.json has words for ${url}, which no page has.`)
    entry.synonyms = words
  }
  return entries
}

/** Lists an entry for each heading of a page. After it come the entries of the rows below the heading. */
async function listEntries(page: Page): Promise<SearchEntry[]> {
  const body = String(await page.body).replaceAll(/<(svg|form|figure)\b[^]*?<\/\1>/g, '')
  // Headings in blocks of HTML have no ID, so no link can point to them. The title of a page needs none.
  const headings = [...body.matchAll(heading)].filter(([, tag, id]) => tag === 'h1' || id !== undefined)
  const entries: SearchEntry[] = []
  let headingOfLevel2 = ''
  for (const [index, match] of headings.entries()) {
    const [headingMarkup, tag, id = '', content = ''] = match
    const title = stripTags(content)
    if (tag === 'h2') headingOfLevel2 = title
    const markupBelow = body.slice(match.index + headingMarkup.length, headings[index + 1]?.index ?? body.length)
    const text = stripTags(markupBelow.replaceAll(row, ' ').replaceAll(code, ''))
    entries.push({
      url: id === '' ? page.path : `${page.path}#${id}`,
      page: tag === 'h3' ? `${page.title}: ${headingOfLevel2}` : page.title,
      title,
      text: tag === 'h1' ? `${page.description} ${text}` : text,
    })
    for (const [, rowId = '', firstCell = '', otherCells = ''] of markupBelow.matchAll(row)) {
      // If the first cell is a link, the part that it leads to has an entry.
      if (!firstCell.includes('<a ')) entries.push(createRowEntry(page, rowId, firstCell, otherCells))
    }
  }
  return entries
}

function createRowEntry(page: Page, id: string, firstCell: string, otherCells: string): SearchEntry {
  const title = stripTags(firstCell)
  return {
    url: `${page.path}#${id}`,
    page: page.title,
    // The ID of a field also has the name of its schema, such as `Plan.currency`.
    title: id.endsWith(`.${title}`) ? id : title,
    text: stripTags(otherCells),
  }
}

const code = /<div class="code">[^]*?<\/div>/g

/** Returns the text of HTML without tags and entities, in one line. */
function stripTags(markup: string): string {
  return markup
    .replaceAll(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const characters: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
