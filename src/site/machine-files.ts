// The files for programs: llms.txt, the sitemap and those in /.well-known. Node only.
import { securityEmail } from '../api/promises.ts'
import { renderMarkdown } from './page-markdown.ts'
import { getMarkdownPath, type Section } from './page-shell.ts'

const summary = `A partner's server exchanges a client ID and secret for a short-lived bearer token, and lists the investment plans that may be
offered in its country. Two operations: POST /api/v3/partners/auth and GET /api/v3/partners/{shortName}/plans.`

/** https://llmstxt.org: links to every page as Markdown. */
export function formatLlmsTxt(origin: string, sections: readonly Section[]): string {
  const lists = sections.map(({ heading, pages }) => {
    const links = pages.map((page) => `- [${page.title}](${origin}${getMarkdownPath(page)}): ${page.description}`)
    return `## ${heading}\n\n${links.join('\n')}\n`
  })
  const others = `- [openapi.json](${origin}/openapi.json): the API description\n- [All pages in one file](${origin}/llms-full.txt)\n`
  return `# Investment Plan Catalog\n\n> ${summary.replaceAll('\n', ' ')}\n\n${lists.join('\n')}\n## Optional\n\n${others}`
}

/** Every page as Markdown, in one file. */
export async function formatLlmsFull(sections: readonly Section[]): Promise<string> {
  const pages = await Promise.all(sections.flatMap((section) => section.pages).map(renderMarkdown))
  return pages.join('\n\n---\n\n')
}

/** RFC 8414: OAuth 2 libraries find the token endpoint with it. The token endpoint reads no body, so it needs no `scope`. */
export function formatAuthorizationServer(origin: string): string {
  const metadata = {
    issuer: origin,
    token_endpoint: `${origin}/api/v3/partners/auth`,
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    grant_types_supported: ['client_credentials'],
    // Required, and empty: there is no authorization endpoint.
    response_types_supported: [],
    service_documentation: `${origin}/tokens`,
  }
  return `${JSON.stringify(metadata, null, 2)}\n`
}

/** https://www.sitemaps.org/protocol.html */
export function formatSitemap(origin: string, sections: readonly Section[]): string {
  const urls = sections.flatMap(({ pages }) => pages.map(({ path }) => `<url><loc>${origin}${path}</loc></url>\n`))
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('')}</urlset>\n`
}

/** RFC 9116. Every deploy builds the site, so the date of a service in use stays in the future. */
export function formatSecurityTxt(origin: string, now: Date): string {
  const expires = new Date(now)
  expires.setUTCFullYear(expires.getUTCFullYear() + 1)
  return [
    `Contact: mailto:${securityEmail}`,
    `Expires: ${expires.toISOString()}`,
    'Preferred-Languages: en',
    ...(origin ? [`Canonical: ${origin}/.well-known/security.txt`, `Policy: ${origin}/promises#security`] : []),
    '',
  ].join('\n')
}
