// A part of npm run generate: fills the marks of the project's pages, such as `<!-- hours -->30 hours<!-- end -->`, with promises,
// defaults of the configuration, and the rules of alerts.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultTokenLifetimeSeconds } from '../api/config.ts'
import { freshnessSeconds, securityEmail, staleIfErrorHours } from '../api/promises.ts'
import { maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { alerts } from './core/service/usage-queries.ts'

const minutes = freshnessSeconds / 60

/** The text of each mark, by its name. */
export const marks: Readonly<Record<string, string>> = {
  securityEmail,
  freshness: `${['zero', 'one', 'two', 'three', 'four', 'five'][minutes] ?? minutes} minutes`,
  hours: `${staleIfErrorHours} hours`,
  lifetime: String(defaultTokenLifetimeSeconds),
  iterations: String(maxPbkdf2Iterations),
  ...Object.fromEntries(Object.entries(alerts).map(([name, { rule }]) => [name, rule])),
}

/** The pages that have marks. */
export const pages = [
  '.github/SECURITY.md',
  'src/ops/README.md',
  'src/worker/DEPLOY.md',
  'src/worker/ONCALL.md',
  'src/worker/cache/README.md',
]

/** @throws Error for a mark with an unknown name, or without its end. */
export function fillMarks(text: string): string {
  const pair = /(<!-- ([\w-]+) -->).*?(<!-- ([\w-]+) -->|$)/gs
  return text.replaceAll(pair, (_, mark: string, name: string, end: string, endName?: string) => {
    const filling = marks[name]
    if (filling === undefined) throw new Error(`src/ops/generate-pages.ts has no text for the mark "${name}".`)
    if (endName !== 'end') throw new Error(`The mark "${name}" lacks <!-- end -->.`)
    return mark + filling + end
  })
}

if (import.meta.main) {
  for (const page of pages) {
    const file = join(import.meta.dirname, '../..', page)
    writeFileSync(file, fillMarks(readFileSync(file, 'utf8')))
  }
}
