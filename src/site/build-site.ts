// Builds the site for partners' developers: npm run site makes dist/site, which is served as it is.
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { readOrigin } from '../api/origin.ts'
import { formatOpenapi } from '../openapi/openapi-document.ts'
import { writeClients } from './client-files.ts'
import { buildSearchIndex } from './search-index.ts'
import {
  formatAuthorizationServerMetadata,
  formatFeed,
  formatLlmsTxt,
  formatPageMarkdown,
  formatSecurityTxt,
  formatSitemap,
} from './machine-files.ts'
import { exampleOrigin } from './example-origin.ts'
import { getMarkdownPath, renderPage, type Page } from './page-shell.ts'
import { listSections } from './table-of-contents.ts'
import { sampleFiles } from './blocks/start.ts'
import { syncFiles } from './blocks/sync-job.ts'
import { notFoundPage } from './not-found-page.ts'

const source = import.meta.dirname
const modules = join(source, '../../node_modules')

/** Checks the value of SITE_ORIGIN, and returns it. @throws Error unless it is empty, or an origin as `readOrigin` returns it. */
export function parseSiteOrigin(value = ''): string {
  if (value === '' || readOrigin(value) === value) return value
  throw new Error(
    `SITE_ORIGIN must be an origin such as ${exampleOrigin}, or an http: origin of this machine; it is ${value}.`,
  )
}

/**
 * Builds the site beside `folder`, then moves it there, so that a server of `folder` never lacks a file.
 * @param origin empty if it is not known: then links in files for programs are relative, and the files that need an origin are missing
 */
export async function buildSite(folder: string, origin = ''): Promise<void> {
  const draft = `${folder}.${process.pid}`
  try {
    await mkdir(draft, { recursive: true })
    await writeSite(draft, origin)
    await replaceFiles(folder, draft)
  } finally {
    // After a failure, other files may still be written. A new file in the folder makes `rm` fail, so `rm` retries.
    await rm(draft, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Moves all files of `draft` into `folder`, and deletes other files. Keeps the folder itself: a running server would not find a new one. */
async function replaceFiles(folder: string, draft: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const names = await readdir(draft, { recursive: true })
  for (const name of names) {
    if ((await stat(join(draft, name))).isDirectory()) await mkdir(join(folder, name), { recursive: true })
    else await rename(join(draft, name), join(folder, name))
  }
  const staleNames = (await readdir(folder, { recursive: true })).filter((name) => !names.includes(name))
  for (const name of staleNames) await rm(join(folder, name), { recursive: true, force: true })
}

/** Writes all files of the site. @param folder exists, and is empty @param origin empty if it is not known */
async function writeSite(folder: string, origin: string): Promise<void> {
  const sections = listSections(origin)
  for (const name of ['.well-known', 'client']) await mkdir(join(folder, name))
  const { filename, integrity } = await writeClients(folder)
  const replacements = {
    [exampleOrigin]: origin || exampleOrigin,
    PACKAGE_FILE: filename,
    PACKAGE_INTEGRITY: integrity,
  }
  /** Writes a text with the values of the placeholders. */
  const writeText = async (file: string, text: string) => {
    for (const [placeholder, value] of Object.entries(replacements)) text = text.replaceAll(placeholder, value)
    await writeFile(join(folder, file), text)
  }
  const writePage = async (file: string, page: Page) =>
    writeText(file, String(await renderPage(page, sections, origin)))
  await Promise.all([
    ...sections
      .flatMap(({ pages }) => pages)
      .map(async (page) => {
        const file = page.path === '/' ? 'index.html' : `${page.path}.html`
        await writePage(file, page)
        await writeText(getMarkdownPath(page), formatPageMarkdown(page))
      }),
    writePage('404.html', notFoundPage),
    ...['favicon.ico', 'favicon.svg', '_headers'].map((file) => cp(join(source, 'static', file), join(folder, file))),
    writeText('search-index.json', JSON.stringify(await buildSearchIndex(sections))),
    writeText('openapi.json', formatOpenapi(origin)),
    writeText('notices.txt', await readLicenses()),
    writeText('changes.xml', await formatFeed(origin)),
    writeText('llms.txt', formatLlmsTxt(origin, sections)),
    writeText('robots.txt', `User-agent: *\nAllow: /\n${origin && `Sitemap: ${origin}/sitemap.xml\n`}`),
    origin && writeText('sitemap.xml', formatSitemap(origin, sections)),
    origin && writeText('.well-known/oauth-authorization-server', formatAuthorizationServerMetadata(origin)),
    writeText('.well-known/security.txt', formatSecurityTxt(origin, new Date())),
    ...[...sampleFiles, ...syncFiles].map((file) => cp(join(source, file), join(folder, file))),
    cp(
      join(modules, '@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2'),
      join(folder, 'figtree.woff2'),
    ),
    build({
      entryPoints: {
        'browser/every-page': join(source, 'browser/every-page.ts'),
        'browser/try': join(source, 'browser/try.ts'),
        styles: join(source, 'styles/styles.css'),
      },
      outdir: folder,
      chunkNames: 'browser/[name]-[hash]',
      bundle: true,
      splitting: true,
      external: ['/figtree.woff2'],
      format: 'esm',
      minify: true,
      target: 'es2022',
      logLevel: 'warning',
    }),
  ])
}

/** Returns the licenses of the code and the font that browsers load: hono/html and MiniSearch are parts of the scripts. */
async function readLicenses(): Promise<string> {
  const licenses = await Promise.all(
    ['hono/LICENSE', 'minisearch/LICENSE.txt', '@fontsource-variable/figtree/LICENSE'].map(async (file) => {
      const text = await readFile(join(modules, file), 'utf8')
      return `${dirname(file)}\n\n${text.trim()}\n`
    }),
  )
  return licenses.join('\n---\n\n')
}

if (import.meta.main) await buildSite(join(source, '../../dist/site'), parseSiteOrigin(process.env['SITE_ORIGIN']))
