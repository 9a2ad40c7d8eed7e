import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defaultTokenLifetimeSeconds } from '../src/api/config.ts'
import { fillPlaceholders, pagesWithPlaceholders, placeholders } from '../src/ops/generate-pages.ts'

const texts = pagesWithPlaceholders.map((page) => readFileSync(join(import.meta.dirname, '..', page), 'utf8'))

test.each(pagesWithPlaceholders.map((page, index) => [page, texts[index] ?? '']))(
  'npm run generate leaves %s as it is',
  (_, text) => {
    expect(text).toContain('<!-- end -->')
    expect(fillPlaceholders(text)).toBe(text)
  },
)

test('a page has each placeholder, and its text is replaced until the end', () => {
  expect(Object.keys(placeholders).filter((name) => !texts.some((text) => text.includes(`<!-- ${name} -->`)))).toEqual(
    [],
  )
  const filled = `<!-- hours -->${placeholders['hours']}<!-- end --> <!-- hours -->${placeholders['hours']}<!-- end -->`
  expect(fillPlaceholders('<!-- hours -->1\nh <b><!-- end --> <!-- hours --><!-- end -->')).toBe(filled)
})

test.each([
  ['<!-- hour -->30 hours<!-- end -->', '"hour"'],
  ['<!-- hours -->30 hours<!-- edn -->', 'lacks'],
  ['<!-- hours -->30 hours', 'lacks'],
  ['30 hours<!-- end -->', '"end"'],
])('a mistyped placeholder is an error: %s', (text, message) => {
  expect(() => fillPlaceholders(text)).toThrow(message)
})

// A block of code can’t have a placeholder.
test('README shows the lifetime of a token', () => {
  const text = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  expect(text).toContain(`"expires_in":${defaultTokenLifetimeSeconds},`)
})
