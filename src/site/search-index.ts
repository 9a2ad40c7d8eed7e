// The index of the search: one entry for each heading and each row of a table that has an ID. Node only.
import type { SearchEntry } from './search-engine.ts'
import type { Page, Section } from './page-shell.ts'

/** Words that partners use, by the part of a page that they look for. The pages use others, or other parts use them more. */
const synonyms: Record<string, string> = {
  '/tokens#get-a-token': 'API key authentication login base64 lifetime expires',
  '/tokens#use-an-oauth-2-library': 'scope grant type',
  '/tokens#reuse-and-renew-tokens': 'session expiration share',
  '/tokens#rotate-the-client-secret': 'lost forgotten new password change',
  '/tokens#if-a-secret-or-token-leaks': 'leaked stolen compromised committed git github',
  '/plans#which-plans': 'missing disappeared gone hidden',
  '/plans#performance1-to-performance10':
    'currency of returns yield interest profit negative round decimals management fees',
  '/plans#performancedate': 'timezone UTC frequency updated',
  '/plans#mininvestableamounts-mintopupamounts': 'minimum investment amount format smallest deposit',
  '/plans#currency': 'USD dollars',
  '/plans#isinvestable-noninvestablenote': 'closed sold out buy new customers',
  '/plans#productrisklevel': 'sort order by risk',
  '/plans#values': 'HTML markup arabic RTL unicode missing empty',
  '/plans#artwork-and-documents': 'cache image picture photo logo icon hotlinking PDF',
  '/sync': 'stale',
  '/sync#request-a-list-only-if-it-has-changed': 'conditional request 304 not modified',
  '/sync#how-often-to-poll': 'interval schedule frequency',
  '/sync#the-sync-job': 'nightly cron',
  '/sync#apply-a-list': 'disappeared deleted withdrawn gone',
  '/limits': 'throttling quota',
  '/limits#pagination': 'paginated page through results cursor offset',
  '/limits#plan-requests': 'maximum per second throttling quota',
  '/limits#lifetime-of-a-token': 'long live valid TTL',
  '/limits#webhooks': 'notify notification event push callback',
  '/limits#timeouts': 'retry retries policy exponential backoff',
  '/limits#browser-origins': 'CORS error preflight frontend',
  '/limits#tls': 'HTTPS SSL encryption versions',
  '/limits#ip-addresses': 'whitelist allowlist',
  '/limits#size-and-compression': 'big large response megabytes',
  '/limits#two-countries': 'second other multiple',
  '/limits#status-page': 'health check ping alive',
  '/testing#sandbox': 'test account staging environment dummy data',
  '/testing#mock-server': 'fake stub offline unit tests',
  '/testing#api-tools': 'insomnia swagger collection',
  '/client#typescript-and-javascript': 'library SDK types Node version',
  '/client#python': 'library SDK pip install version',
  '/client#other-languages': 'library SDK Java Kotlin csharp C# .NET Ruby PHP Go Rust',
  '/reference': 'swagger openapi.json specification schema',
  '/errors': '401 unauthorized',
  '/errors#invalid_request': 'bad request',
  '/errors#rate_limited': 'throttling 429',
  '/errors#invalid_client': 'wrong secret password',
  '/errors#forbidden': 'wrong short name',
  '/promises#go-live': 'checklist check production launch going',
  '/promises#availability': 'SLA uptime',
  '/promises#freshness': 'quickly soon delay',
  '/changes': 'deprecation sunset end of life changelog release notes compatibility versioning unknown fields',
  '/support': 'contact email phone help licence legal copyright terms of use',
  '/support#incorrect-data': 'wrong figures performance mistake bug',
}

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

async function listEntries(page: Page): Promise<SearchEntry[]> {
  const body = String(await page.body).replaceAll(/<(svg|form)\b[^]*?<\/\1>/g, '')
  const headings = [...body.matchAll(heading)].filter(([, tag, id]) => tag === 'h1' || id !== undefined)
  let section = ''
  return headings.flatMap((match, index) => {
    const [whole, tag, id = '', content = ''] = match
    const part = body.slice(match.index + whole.length, headings[index + 1]?.index ?? body.length)
    const rest = part.replaceAll(row, ' ')
    const text = readText(rest.replaceAll(code, ''))
    const title = readText(content)
    if (tag === 'h2') section = title
    const entry: SearchEntry = {
      url: id === '' ? page.path : `${page.path}#${id}`,
      page: tag === 'h3' ? `${page.title}: ${section}` : page.title,
      title,
      text: tag === 'h1' ? `${page.description} ${text}` : text,
      names: listNames(rest),
    }
    // A row that starts with a link is only a way to another entry.
    const rows = [...part.matchAll(row)].filter(([, , first = '']) => !first.includes('<a '))
    return [entry].concat(rows.map(([, rowId = '', first = '', cells = '']) => readRow(page, rowId, first, cells)))
  })
}

function readRow(page: Page, id: string, first: string, cells: string): SearchEntry {
  const title = readText(first)
  return {
    url: `${page.path}#${id}`,
    page: page.title,
    // A row of a schema says what it belongs to only in its ID, such as `Plan.currency`.
    title: id.endsWith(`.${title}`) ? id : title,
    text: readText(cells),
    names: '',
  }
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
