// Writes the HTML around every page's content: head, header, navigation and footer.
import { html, raw } from 'hono/html'
import { changes, support } from '../api/promises.ts'

export type Markup = ReturnType<typeof html>

export interface Page {
  /** The path of the page, such as `/tokens`, which is served from tokens.html. */
  path: string
  title: string
  /** The summary that search engines show. */
  description: string
  body: Markup
  /** Empty for the page that a browser gets with status 404. */
  markdown: string
}

export interface Section {
  heading: string
  pages: Page[]
}

const siteName = 'Investment Plan Catalog'
const pathsInHeader = new Set(['/try', '/reference', '/errors'])

/** Returns the path of a page's Markdown, such as `/tokens.md`. */
export function getMarkdownPath({ path }: Pick<Page, 'path'>): string {
  return path === '/' ? '/index.md' : `${path}.md`
}

/** Renders a page as HTML. @param origin the origin of the service, empty if it is not known */
export async function renderPage(page: Page, sections: Section[], origin: string): Promise<Markup> {
  const pages = sections.flatMap((section) => section.pages)
  // The page for status 404 is not listed.
  const isListed = pages.includes(page)
  const title = page.path === '/' ? `${siteName} for partners` : `${page.title} · ${siteName}`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <meta name="description" content="${page.description}" />
        ${
          isListed &&
          html`${origin && html`<link rel="canonical" href="${origin}${page.path}" />`}
            <link rel="alternate" type="text/markdown" href="${getMarkdownPath(page)}" />`
        }
        <link rel="alternate" type="application/atom+xml" title="Changes of the API" href="/changes.xml" />
        <link rel="service-desc" type="application/json" href="/openapi.json" />
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="preload" href="/figtree.woff2" as="font" type="font/woff2" crossorigin />
        <link rel="stylesheet" href="/styles.css" />
        <script type="module" src="/browser/every-page.js"></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header class="site">
          <a class="brand" href="/"><img src="/favicon.svg" width="28" height="28" alt="" />${siteName}</a>
          <nav aria-label="Tools">
            ${pages.filter(({ path }) => pathsInHeader.has(path)).map((each) => renderLink(each, page))}
          </nav>
          <button class="menu" type="button" popovertarget="pages">Menu</button>
          <button class="search" type="button">Search <kbd>Ctrl K</kbd></button>
        </header>
        <div class="frame">
          <nav class="pages" id="pages" aria-label="Pages" popover>
            ${sections.map(
              ({ heading, pages: sectionPages }) =>
                html`<div>
                  <p>${heading}</p>
                  <ul>
                    ${sectionPages.map((each) => html`<li>${renderLink(each, page)}</li>`)}
                  </ul>
                </div>`,
            )}
          </nav>
          <main id="content" tabindex="-1">${raw(await insertTools(page))}</main>
        </div>
        <footer class="site">
          <p>
            API version ${changes[0].version}, <a href="/changes#history">last changed on ${changes[0].date}</a>.
            Questions: <a href="mailto:${support.email}">${support.email}</a>. Downloads:
            <a href="/openapi.json">openapi.json</a>, the API description for tools; <a href="/llms.txt">llms.txt</a>,
            all pages for language models; and the clients
            <a href="/client/investment-plans.mts">investment-plans.mts</a> and
            <a href="/client/investment_plans.py">investment_plans.py</a>. <a href="/notices.txt">Licenses</a> of fonts
            and libraries.
          </p>
        </footer>
      </body>
    </html> `
}

/** A page with fewer headings of level 2 has no "On this page". */
const minHeadings = 4

/** Returns the page's content as HTML, with "Copy page" and "On this page" below the title. The page for status 404 has no "Copy page". */
async function insertTools({ body, markdown }: Page): Promise<string> {
  const text = String(await body)
  const copyButton = markdown && html`<button class="copy copy-page" type="button">Copy page</button>`
  const tools = await html`${copyButton}${renderContents(text)}`
  return text.replace('</h1>', (endTag) => `${endTag}\n${String(tools)}`)
}

/** Renders "On this page": a link to each heading of level 2. Renders nothing for fewer than `minHeadings`. @param body the page's content as HTML */
function renderContents(body: string): Markup | string {
  const headings = [...body.matchAll(/<h2 id="([^"]+)">([^]*?)<\/h2>/g)]
  if (headings.length < minHeadings) return ''
  const links = headings.map(
    ([, id, content = '']) => html`<li><a href="#${id}">${raw(content.replaceAll(/<[^>]*>/g, ''))}</a></li>`,
  )
  return html`<nav class="contents" aria-label="On this page">
    <details>
      <summary>On this page</summary>
      <ul>
        ${links}
      </ul>
    </details>
  </nav>`
}

function renderLink({ path, title }: Page, current: Page): Markup {
  return path === current.path
    ? html`<a href="${path}" aria-current="page">${title}</a>`
    : html`<a href="${path}">${title}</a>`
}
