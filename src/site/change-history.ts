// The history of the API, from the table of the changes page: for the feed and for the footer of every page. Node only.
import { html } from 'hono/html'
import { exampleOrigin } from './example-origin.ts'
import { readSiteFile } from './markdown.ts'
import type { Change } from './page-shell.ts'

/** The newest change comes first, as in the table. */
export function readChanges(): [Change, ...Change[]] {
  const rows = readSiteFile('pages/changes.md').matchAll(/^\| (\d{4}-\d\d-\d\d) +\| (\S+) +\| (.+?) +\|$/gm)
  const [first, ...rest] = [...rows].map(([, date = '', version = '', text = '']) => ({ date, version, text }))
  if (first === undefined) throw new Error('changes.md has no row such as "| 2026-11-21 | 3.0.0 | … |".')
  return [first, ...rest]
}

/** An Atom feed (RFC 4287) at `/changes.xml`. */
export async function formatFeed(origin: string): Promise<string> {
  const changes = readChanges()
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
          <id>${exampleOrigin}/changes#${date}-${version}</id>
          <link rel="alternate" type="text/html" href="${origin}/changes#history" />
          <updated>${date}T00:00:00Z</updated>
          <content type="text">${text.replaceAll('`', '')}</content>
        </entry>`,
    )}
  </feed>`
  return `<?xml version="1.0" encoding="utf-8"?>\n${String(await feed)}\n`
}
