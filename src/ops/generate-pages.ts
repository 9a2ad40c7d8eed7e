// A part of npm run generate: writes promises, defaults of the configuration, and the rules of alerts into the project's pages. In the
// pages, placeholders such as `<!-- hours -->30 hours<!-- end -->` show where.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultTokenLifetimeSeconds } from '../api/config.ts'
import { securityEmail, staleIfErrorHours } from '../api/promises.ts'
import { maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { alerts } from './core/service/usage-queries.ts'
import { freshness } from './shared/freshness-phrase.ts'

/** The text of each placeholder, by the name of the placeholder. */
export const placeholders: Readonly<Record<string, string>> = {
  securityEmail,
  freshness,
  hours: `${staleIfErrorHours} hours`,
  lifetime: String(defaultTokenLifetimeSeconds),
  iterations: String(maxPbkdf2Iterations),
  ...Object.fromEntries(Object.entries(alerts).map(([name, { rule }]) => [name, rule])),
}

export const pagesWithPlaceholders = [
  '.github/SECURITY.md',
  'src/ops/README.md',
  'src/worker/DEPLOY.md',
  'src/worker/ONCALL.md',
  'src/worker/cache/README.md',
]

/**
 * Returns a page in which each placeholder, `<!-- NAME -->` to `<!-- end -->`, contains its current text.
 * @throws Error for an unknown name, or a placeholder without its end.
 */
export function fillPlaceholders(page: string): string {
  const placeholder = /(<!-- ([\w-]+) -->).*?(<!-- ([\w-]+) -->|$)/gs
  return page.replaceAll(placeholder, (_, start: string, name: string, end: string, endName?: string) => {
    const text = placeholders[name]
    if (text === undefined) throw new Error(`src/ops/generate-pages.ts has no text for the placeholder "${name}".`)
    if (endName !== 'end') throw new Error(`The placeholder "${name}" lacks <!-- end -->.`)
    return start + text + end
  })
}

if (import.meta.main) {
  for (const page of pagesWithPlaceholders) {
    const file = join(import.meta.dirname, '../..', page)
    writeFileSync(file, fillPlaceholders(readFileSync(file, 'utf8')))
  }
}
