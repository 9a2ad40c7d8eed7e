import { expect, test } from 'vitest'
import { createSearchEngine, cutExcerpt } from '../../src/site/search-engine.ts'
import { buildSearchIndex } from '../../src/site/search-index.ts'
import { listSections } from '../../src/site/table-of-contents.ts'

const sections = listSections()
const entries = await buildSearchIndex(sections)
const find = createSearchEngine(entries)

test('every page, error code and field of a plan has an entry, as readable text', () => {
  const urls = entries.map(({ url }) => url)
  expect(new Set(urls).size).toBe(urls.length)
  for (const { path } of sections.flatMap(({ pages }) => pages)) expect(urls).toContain(path)
  expect(urls).toEqual(expect.arrayContaining(['/errors#invalid_client', '/reference#Plan.lockInPeriod']))
  for (const { title, text } of entries) expect(`${title} ${text}`).not.toMatch(/<\/|&\w+;|\s\s/)
})

test.each([
  ['lockin', '/reference#Plan.lockInPeriod'],
  ['lock in period', '/reference#Plan.lockInPeriod'],
  ['invalid_client', '/errors#invalid_client'],
  ['wrong secret', '/errors#invalid_client'],
  ['rate limit', '/errors#rate_limited'],
  ['expires_in', '/reference#AccessToken.expires_in'],
  ['nightly sync', '/sync#the-sync-job'],
  ['poll', '/sync#how-often-to-poll'],
  ['InvestmentPlansError', '/client#what-the-clients-do'],
  ['rotate secret', '/tokens#rotate-the-client-secret'],
  ['leaked secret', '/tokens#if-a-secret-or-token-leaks'],
  ['stop offering', '/sync#apply-a-list'],
  ['availability', '/promises#availability'],
  ['breaking change', '/promises#changes'],
  ['sandbox', '/testing#sandbox'],
  ['mock server', '/testing#mock-server'],
  ['fund mannager', '/reference#Plan.fundManager'],
])('"%s" finds %s first', (query, url) => {
  expect(find(query)[0]?.entry.url).toBe(url)
})

test('words of which only some occur still find something, and an unknown word nothing', () => {
  expect(find('invalid_client zebra').map(({ entry }) => entry.url)).toContain('/errors#invalid_client')
  expect(find('zebra')).toEqual([])
  expect(find('(')).toEqual([])
})

test('an excerpt shows the first term that was found', () => {
  const text = `${'first words '.repeat(30)}the needle in it${' last words'.repeat(30)}`
  const excerpt = cutExcerpt(text, ['needle'], 100)
  expect(excerpt).toMatch(/^… .*words the needle in it last words.* …$/)
  expect(excerpt.length).toBeLessThanOrEqual(104)
  expect(cutExcerpt('short', ['needle'], 100)).toBe('short')
  expect(cutExcerpt(text, [], 20)).toBe('first words first …')
})
