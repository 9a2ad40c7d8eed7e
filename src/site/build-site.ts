// The site for partners' developers: npm run site makes dist/site, which is served as it is. Node only.
import { cp, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { readDemoPlan } from '../catalog/demo-plan.ts'
import { renderPage } from './page-shell.ts'
import { listSections } from './table-of-contents.ts'
import { sampleFiles } from './pages/start-page.ts'

const source = import.meta.dirname

/** Builds the site beside `folder`, then moves it there, so that a server of `folder` never lacks a file. */
export async function buildSite(folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}`
  try {
    await mkdir(draft, { recursive: true })
    await writeSite(draft)
    await replaceFiles(folder, draft)
  } finally {
    // After a failure, some files may still be written: then the folder is not empty yet.
    await rm(draft, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Keeps the folder itself, as a running server would not find a new one, and replaces each file by one rename. */
async function replaceFiles(folder: string, draft: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const names = await readdir(draft, { recursive: true })
  for (const name of names) {
    if ((await stat(join(draft, name))).isDirectory()) await mkdir(join(folder, name), { recursive: true })
    else await rename(join(draft, name), join(folder, name))
  }
  const stale = (await readdir(folder, { recursive: true })).filter((name) => !names.includes(name))
  for (const name of stale) await rm(join(folder, name), { recursive: true, force: true })
}

async function writeSite(folder: string): Promise<void> {
  const sections = listSections(await readDemoPlan(101))
  await Promise.all([
    ...sections
      .flatMap(({ pages }) => pages)
      .map(async (page) => {
        const file = page.path === '/' ? 'index.html' : `${page.path}.html`
        await writeFile(join(folder, file), String(await renderPage(page, sections)))
      }),
    ...['styles.css', 'favicon.svg', '_headers'].map((file) => cp(join(source, 'static', file), join(folder, file))),
    cp(join(source, '../openapi/openapi.json'), join(folder, 'openapi.json')),
    ...['client/investment-plans.ts', ...sampleFiles.map((file) => `samples/${file}`)].map((file) =>
      cp(join(source, file), join(folder, file)),
    ),
    cp(
      resolvePackaged('@fontsource-variable/figtree', 'files/figtree-latin-wght-normal.woff2'),
      join(folder, 'figtree.woff2'),
    ),
    build({
      entryPoints: ['every-page', 'plan-cards', 'try-calls'].map((name) => join(source, 'browser', `${name}.ts`)),
      outdir: join(folder, 'browser'),
      bundle: true,
      splitting: true,
      format: 'esm',
      minify: true,
      target: 'es2022',
      logLevel: 'warning',
    }),
  ])
}

function resolvePackaged(name: string, file: string): string {
  return join(dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`))), file)
}

if (import.meta.main) await buildSite(join(source, '../../dist/site'))
