// Writes the files for programs: llms.txt, the sitemap, the feed, and the files in /.well-known.
import { html } from 'hono/html'
import { changes, securityEmail } from '../api/promises.ts'
import { exampleOrigin } from './example-origin.ts'
import { getMarkdownPath, type Page, type Section } from './page-shell.ts'

const summary =
  'A partner’s server exchanges a client ID and secret for a short-lived bearer token, and lists the investment plans that may be offered in its country.'

/** Returns llms.txt (https://llmstxt.org): links to every page as Markdown, and the whole API reference, because some programs follow no links. @param origin if empty, links are relative */
export function formatLlmsTxt(origin: string, sections: readonly Section[]): string {
  const pages = sections.flatMap((section) => section.pages)
  const links = pages.map((page) => `- [${page.title}](${getMarkdownPath(page)}): ${page.description}`)
  const referencePages = pages.filter(({ path }) => path === '/reference').map(formatPageMarkdown)
  // The reference is a section of the file, so its headings move down one level. A comment in a command begins with a lowercase letter.
  const reference = referencePages.join('').replaceAll(/^(?=#+ [A-Z])/gm, '#')
  const text = `# Investment Plan Catalog

> ${summary}

## Pages

${links.join('\n')}
- [openapi.json](/openapi.json): the API description

${reference}`
  return text.replaceAll('](/', `](${origin}/`)
}

/** Adds the page's address below its title, and makes links to pages lead to their Markdown. All addresses begin with `/`: "Copy page" adds the origin. */
export function formatPageMarkdown({ path, markdown }: Page): string {
  // Matches links to pages only: links to files have a dot, such as `/openapi.json`.
  const markdownWithLinks = markdown.replaceAll(
    /\]\((\/[^\s).#]*)(?=[)#])/g,
    (_, target: string) => `](${getMarkdownPath({ path: target })}`,
  )
  return `${markdownWithLinks.trim().replace('\n', `\n\nAddress: ${path}\n`)}\n`
}

/** Returns the metadata with which OAuth 2 libraries find the token endpoint (RFC 8414). */
export function formatAuthorizationServerMetadata(origin: string): string {
  const metadata = {
    issuer: origin,
    token_endpoint: `${origin}/api/v3/partners/auth`,
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    grant_types_supported: ['client_credentials'],
    // This field is required. It is empty because there is no authorization endpoint.
    response_types_supported: [],
    service_documentation: `${origin}/tokens`,
  }
  return `${JSON.stringify(metadata, null, 2)}\n`
}

export function formatSitemap(origin: string, sections: readonly Section[]): string {
  const urls = sections.flatMap(({ pages }) => pages.map(({ path }) => `<url><loc>${origin}${path}</loc></url>\n`))
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('')}</urlset>\n`
}

/** Returns security.txt (RFC 9116). It expires a year after `now`: each deploy makes a new file. @param origin if empty, the fields `Canonical` and `Policy` are missing */
export function formatSecurityTxt(origin: string, now: Date): string {
  const expires = new Date(now)
  expires.setUTCFullYear(expires.getUTCFullYear() + 1)
  return [
    `Contact: mailto:${securityEmail}`,
    `Expires: ${expires.toISOString()}`,
    'Preferred-Languages: en',
    ...(origin ? [`Canonical: ${origin}/.well-known/security.txt`, `Policy: ${origin}/support#security`] : []),
    '',
  ].join('\n')
}

/** Returns an Atom feed (RFC 4287) of versions. The build replaces the origin of the IDs. @param origin if empty, links are relative */
export async function formatFeed(origin: string): Promise<string> {
  const feed = html`<feed xmlns="http://www.w3.org/2005/Atom">
    <title>Investment Plan Catalog: changes of the API</title>
    <id>${exampleOrigin}/changes</id>
    <link rel="alternate" type="text/html" href="${origin}/changes" />
    <link rel="self" type="application/atom+xml" href="${origin}/changes.xml" />
    <updated>${changes[0].date}T00:00:00Z</updated>
    <author><name>Investment Plan Catalog</name></author>
    ${changes.map(
      ({ date, version, text }) =>
        html`<entry>
          <title>Version ${version}</title>
          <id>${exampleOrigin}/changes/${date}-${version}</id>
          <link rel="alternate" type="text/html" href="${origin}/changes#history" />
          <updated>${date}T00:00:00Z</updated>
          <content type="text">${text.replaceAll('`', '')}</content>
        </entry>`,
    )}
  </feed>`
  return `<?xml version="1.0" encoding="utf-8"?>\n${String(await feed)}\n`
}
