// The index of the search: one entry for each heading and each row of a table that has an ID. Node only.
import type { SearchEntry } from './search-engine.ts'
import type { Page, Section } from './page-shell.ts'

/** Everything that a link can point to: a heading, or the first cell of a row. */
const target = /<(h[1-3]|th)\b(?: [^>]*?)??(?: id="([^"]+)")?>([^]*?)<\/\1>/g

export async function buildSearchIndex(sections: readonly Section[]): Promise<SearchEntry[]> {
  const entries = await Promise.all(sections.flatMap(({ pages }) => pages).map(listEntries))
  return entries.flat()
}

async function listEntries(page: Page): Promise<SearchEntry[]> {
  const body = String(await page.body).replaceAll(/<(svg|form)\b[^]*?<\/\1>/g, '')
  const targets = [...body.matchAll(target)].filter(([, tag, id]) => tag === 'h1' || id !== undefined)
  let section = ''
  return targets.map((match, index) => {
    const [whole, tag, id = '', content = ''] = match
    const end = targets[index + 1]?.index ?? body.length
    const part = body.slice(match.index + whole.length, end)
    const text = readText(part.replaceAll(code, ''))
    const title = readText(content)
    if (tag === 'h2') section = title
    return {
      url: id === '' ? page.path : `${page.path}#${id}`,
      page: tag === 'h3' ? `${page.title}: ${section}` : page.title,
      // A row says what it belongs to only in its ID, such as `Plan.currency`.
      title: tag === 'th' && id.endsWith(`.${title}`) ? id : title,
      text: tag === 'h1' ? `${page.description} ${text}` : text,
      names: listNames(part),
    }
  })
}

const code = /<pre\b[^]*?<\/pre>/g

/** The names in code, such as `watchPlans` and `Retry-After`. The whole code would bury the text. */
function listNames(markup: string): string {
  const text = [...markup.matchAll(code)].map(([block]) => readText(block)).join(' ')
  const names = text.match(/\b[A-Za-z]+(?:[_-][A-Za-z]+|[a-z][A-Z][A-Za-z]*)+\b/g) ?? []
  return [...new Set(names)].join(' ')
}

function readText(markup: string): string {
  return markup
    .replaceAll(/<\/?(?:a|code|em|span|strong)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const characters: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
