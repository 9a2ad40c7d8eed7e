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
  ['partialw', '/reference#Plan.partialWithdrawable'],
  ['lock in period', '/catalog#lockinperiod'],
  ['invalid_client', '/errors#invalid_client'],
  ['wrong secret', '/errors#invalid_client'],
  ['rate limit', '/errors#rate_limited'],
  ['expires_in', '/tokens#expires-in'],
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
  ['hotlinking', '/catalog#artwork-and-documents'],
  ['where to test', '/testing'],
  ['fund mannager', '/reference#Plan.fundManager'],
])('"%s" finds %s first', (query, url) => {
  expect(find(query)[0]?.entry.url).toBe(url)
})

/** What partners may type, and the page or the part of a page that answers it. */
const queries = {
  'api key': '/tokens',
  SLA: '/promises#availability',
  deprecation: '/promises#changes',
  throttling: '/limits',
  timezone: '/catalog#performancedate',
  TLS: '/operations#tls',
  proxy: '/operations#ip-addresses',
  licence: '/catalog#questions-for-support',
  versioning: '/changes',
  'IP whitelist': '/operations#ip-addresses',
  'status page': '/operations#status-page',
  'polling interval': '/sync',
  'refresh token': '/tokens#reuse-and-renew-tokens',
  'how long does a token live': '/limits#lifetime-of-a-token',
  client_secret_post: '/tokens#use-an-oauth-2-library',
  '429': '/errors#rate_limited',
  '503': '/errors#unavailable',
  'too many requests': '/errors#rate_limited',
  'short name does not match': '/errors#forbidden',
  pagination: '/limits#pagination',
  webhook: '/limits#webhooks',
  CORS: '/limits#browser-origins',
  'timeout retry': '/limits#timeouts',
  etag: '/caching',
  'If-None-Match': '/reference#listPlans.If-None-Match',
  'stale data': '/caching',
  'database outage': '/caching#during-an-outage',
  'wrong performance figures': '/promises#incorrect-data',
  'missing plan': '/filters#which-plans',
  'closed plan isInvestable': '/filters#which-plans',
  'minimum investment': '/reference#Plan.minInvestableAmounts',
  'decimal places': '/catalog#how-many-decimal-places-does-an-amount-have',
  'risk levels': '/reference#Plan.productRiskLevel',
  'fund types': '/filters#fundtype',
  hotlink: '/catalog#artwork-and-documents',
  'gzip compression': '/operations#size-and-compression',
  'two countries': '/operations#two-countries',
  'request id': '/operations#request-ids',
  postman: '/testing#api-tools',
  'typescript sdk': '/client',
}

test('of 40 queries that partners may type, at least 38 find their page among the first three results', () => {
  const failures = Object.entries(queries).flatMap(([query, target]) => {
    const urls = find(query).map(({ entry }) => entry.url)
    const best = urls.slice(0, 3)
    return best.some((url) => url === target || url.startsWith(`${target}#`)) ? [] : [`${query}: ${best.join(', ')}`]
  })
  expect(Object.keys(queries).length).toBe(40)
  expect(failures.length > 2 ? failures : []).toEqual([])
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
