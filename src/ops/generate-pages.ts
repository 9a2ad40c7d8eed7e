// Writes what the project's own pages repeat: promises, defaults of the configuration, and the rules of alerts. npm run generate runs it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultTokenLifetimeSeconds } from '../api/config.ts'
import { freshnessSeconds, securityEmail, staleIfErrorHours } from '../api/promises.ts'
import { maxPbkdf2Iterations } from '../crypto/client-secret.ts'
import { alerts } from './core/service/usage-queries.ts'

const minutes = freshnessSeconds / 60
const freshness = `${['zero', 'one', 'two', 'three', 'four', 'five'][minutes] ?? minutes} minutes`
const hours = `${staleIfErrorHours} hours`
const lifetime = String(defaultTokenLifetimeSeconds)
const iterations = String(maxPbkdf2Iterations)

/** Where a page repeats something, between the words before it and after it. */
const places: readonly (readonly [page: string, place: RegExp, text: string])[] = [
  ['.github/SECURITY.md', /(?<=^Write to )\S+(?=,)/m, securityEmail],
  ['.github/SECURITY.md', /(?<=the check is at most ).+?(?= old while D1 answers)/, freshness],
  ['.github/SECURITY.md', /(?<=^\| KV \| plan lists \| ).+?(?= \|)/m, hours],
  ['src/ops/README.md', /(?<=^Partners see a change within ).+(?=\.$)/m, freshness],
  ['src/ops/README.md', /(?<=with 401 `invalid_token` within ).+?(?=\. With)/, freshness],
  ['src/ops/README.md', /(?<=until the next key has signed for\s)\d+ hours/, hours],
  ['src/worker/DEPLOY.md', /(?<=A change applies within ).+(?=\.$)/m, freshness],
  ['src/worker/ONCALL.md', /(?<=with copies, which last ).+?(?=\. See)/, hours],
  ['src/worker/cache/README.md', /(?<=A change is visible everywhere within\s).+?(?=, plus)/, freshness],
  ['src/worker/cache/README.md', /(?<=^\| \*due\*: up to ).+?(?= min ago \|)/m, String(minutes)],
  ['src/worker/cache/README.md', /\b[\d.]+(?= h\b)/g, String(staleIfErrorHours)],
  ['README.md', /(?<="expires_in":)\d+/, lifetime],
  ['src/site/pages/tokens.md', /(?<="expires_in": )\d+/, lifetime],
  ['src/worker/DEPLOY.md', /(?<=^\| `TOKEN_LIFETIME_SECONDS` +\| variable +\| )\d+/m, lifetime],
  ['src/worker/DEPLOY.md', /(?<=^\| `PBKDF2_ITERATIONS` +\| variable +\| )\d+/m, iterations],
  ['wrangler.toml', /(?<=^# TOKEN_LIFETIME_SECONDS = )\d+/m, lifetime],
  ['wrangler.toml', /(?<=^# PBKDF2_ITERATIONS = )\d+/m, iterations],
  ...Object.entries(alerts).map(([name, { rule }]) => {
    return ['src/worker/ONCALL.md', new RegExp(`(?<=^\\| \`${name}\` +\\| ).+?(?= +\\|)`, 'm'), rule] as const
  }),
]

export const pages: ReadonlySet<string> = new Set(places.map(([page]) => page))

/** @throws Error when a page lacks a place. */
export function repeatPromises(page: string, text: string): string {
  return places
    .filter(([name]) => name === page)
    .reduce((written, [, place, repeated]) => {
      if (written.search(place) < 0) throw new Error(`${page} has no place that matches ${place}`)
      return written.replace(place, () => repeated)
    }, text)
}

if (import.meta.main) {
  for (const page of pages) {
    const file = join(import.meta.dirname, '../..', page)
    writeFileSync(file, repeatPromises(page, readFileSync(file, 'utf8')))
  }
}
