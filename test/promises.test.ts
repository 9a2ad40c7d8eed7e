// The pages repeat numbers of src/api/promises.ts where their readers need them. Every number must still be the same.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as promises from '../src/api/promises.ts'
import { describeEvidence, renderPromises } from '../src/site/pages/promises-page.ts'

const minutes = promises.freshnessSeconds / 60
const hours = promises.staleIfErrorHours
const hoursAfterLastRequest = hours - promises.copyRenewalHours

/** Every match in the file must name the number, in its group. */
const claims: [file: string, pattern: RegExp, expected: number | string][] = [
  ['src/ops/README.md', /within (\w+) minutes/g, minutes],
  ['src/ops/README.md', /for (\w+) more minutes/g, minutes],
  ['src/worker/cache/README.md', /\b(?:up to|over|within) (\w+) min(?:utes)?\b/g, minutes],
  ['src/worker/cache/README.md', /\b(\d+) h\b/g, hours],
  ['src/site/pages/caching.md', /within (\w+) minutes/g, minutes],
  ['src/site/pages/caching.md', /up to (\w+) hours/g, hours],
  ['src/site/pages/caching.md', /count on (\w+) hours/g, hoursAfterLastRequest],
  ['src/site/pages/sync.md', /up to (\w+) minutes/g, minutes],
  ['src/site/pages/tokens.md', /within (\w+) minutes/g, minutes],
  ['src/site/pages/tokens.md', /not used for (\w+) hours/g, hours],
]

test.each(claims)('%s has the promised number at %s', (file, pattern, expected) => {
  const found = [...readFileSync(join(import.meta.dirname, '..', file), 'utf8').matchAll(pattern)]
  expect(found.map(([, text = '']) => readNumber(text))).toEqual(found.map(() => expected))
  expect(found).not.toEqual([])
})

const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

function readNumber(text: string): number | string {
  if (words.includes(text)) return words.indexOf(text)
  return /^\d+$/.test(text) ? Number(text) : text
}

/** Pages that name a promise once. The others link to them. */
const named: [file: string, ...texts: string[]][] = [
  ['src/worker/DEPLOY.md', `applies within ${words[minutes]} minutes`],
  ['src/worker/ONCALL.md', `which last ${hours} hours`],
  [
    '.github/SECURITY.md',
    promises.securityEmail,
    `at most ${words[minutes]} minutes old`,
    `| plan lists | ${hours} hours |`,
  ],
]

test.each(named)('%s names each promise as it is', (file, ...texts) => {
  const page = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
  expect(texts.filter((text) => !page.includes(text))).toEqual([])
})

test('the page for partners shows every promise and address', async () => {
  const page = String(await renderPromises())
  const { availabilityDays, availabilityTargetPercent, breakingChangeNoticeDays, securityEmail, support } = promises
  const texts = [
    `The target: over ${availabilityDays} days, at least ${availabilityTargetPercent}% of the token requests`,
    `within ${minutes} minutes`,
    `for at least ${hoursAfterLastRequest} hours`,
    `at least ${breakingChangeNoticeDays} days`,
    `mailto:${securityEmail}`,
    `mailto:${support.email}`,
    describeEvidence(promises.inProductionSince),
  ]
  expect(texts.filter((text) => !page.replaceAll(/\s+/g, ' ').includes(text))).toEqual([])
})

test('the page says since when the service runs in production, or that it does not', () => {
  expect(describeEvidence(null)).toContain('has not run in production')
  expect(describeEvidence('2027-01-15')).toContain('since 2027-01-15')
})
