import { expect, test } from 'vitest'
import { createSearchEngine } from '../../src/site/search-engine.ts'
import { cutExcerpt } from '../../src/site/search-excerpt.ts'
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
  ['invalid_client', '/errors#invalid_client'],
  ['wrong secret', '/errors#invalid_client'],
  ['rate limit', '/errors#rate_limited'],
  ['nightly sync', '/sync#the-sync-job'],
  ['InvestmentPlansError', '/client#what-the-clients-do'],
  ['leaked secret', '/tokens#if-a-secret-or-token-leaks'],
  ['stop offering', '/sync#apply-a-list'],
  ['availability', '/promises#availability'],
  ['breaking change', '/promises#changes'],
  ['mock server', '/testing#mock-server'],
  ['hotlinking', '/plans#artwork-and-documents'],
  ['where to test', '/testing'],
  ['fund mannager', '/reference#Plan.fundManager'],
])('"%s" finds %s first', (query, url) => {
  expect(find(query)[0]?.entry.url).toBe(url)
})

/** Natural questions of partners, and the parts of pages that answer each. */
const questions: Record<string, string> = {
  'how do I get an access token': '/tokens#get-a-token',
  'how long is a token valid':
    '/limits#lifetime-of-a-token /reference#AccessToken.expires_in /tokens#reuse-and-renew-tokens',
  'do I need a new token for every request': '/tokens#reuse-and-renew-tokens',
  'is there a refresh token': '/tokens#reuse-and-renew-tokens',
  'I lost my client secret, what do I do': '/tokens#rotate-the-client-secret /errors#invalid_client',
  'how do I rotate the secret without downtime': '/tokens#rotate-the-client-secret',
  'our secret was committed to git': '/tokens#if-a-secret-or-token-leaks /tokens#protect-the-client-secret',
  'why do I get a 401':
    '/errors#invalid_client /errors#missing_token /errors#expired_token /errors#invalid_token /errors',
  'what does invalid_token mean': '/errors#invalid_token',
  'why am I getting 403 forbidden': '/errors#forbidden',
  'error code 1010': '/errors#error-code-1010',
  'what should we do when we get a 503': '/errors#unavailable',
  'how many requests can I make per minute': '/limits#token-requests /limits#plan-requests /limits',
  'how often can I poll': '/sync#how-often-to-poll',
  'is there a webhook when a plan changes': '/limits#webhooks',
  'how do I know if the list has changed': '/sync#request-a-list-only-if-it-has-changed',
  'what happens when your database is down': '/promises#outage /sync#during-an-outage',
  'how quickly does a new plan appear': '/promises#freshness /sync#how-fresh-a-list-is',
  'a plan is missing from my list': '/plans#which-plans',
  'how do I filter by currency': '/plans#currency /plans#filters',
  'can I combine filters': '/plans#filters',
  'is the list paginated': '/limits#pagination /plans',
  'what does isInvestable false mean': '/plans#which-plans /reference#Plan.isInvestable',
  'what is the lock-in period': '/plans#lockinperiod /reference#Plan.lockInPeriod',
  'are the returns before or after fees': '/plans#performance1-to-performance10',
  'what is the minimum amount in dollars':
    '/plans#mininvestableamounts-mintopupamounts /reference#Plan.minInvestableAmounts',
  'can I cache the images': '/plans#artwork-and-documents',
  'which disclaimers must I show': '/plans#disclaimers /promises#support',
  'can I call the API from the browser': '/limits#browser-origins',
  'how do I test without real credentials': '/testing#mock-server /testing /testing#sandbox',
  'do you have a sandbox': '/testing#sandbox /limits#sandbox',
  'can I use Postman': '/testing#api-tools',
  'is there a Python library': '/client#python',
  'how do I install the npm package': '/client#typescript-and-javascript',
  'which IP addresses should we allow in our firewall': '/limits#ip-addresses',
  'which TLS versions do you support': '/limits#tls',
  'how big is the response': '/limits#size-and-compression',
  'will you break the API without notice': '/promises#changes',
  'what is your uptime': '/promises#availability',
  'who do I contact for support': '/promises#support',
}

test('of 40 natural questions, at least 38 find an answer first, and all among the first three', () => {
  const ranks = Object.entries(questions).map(([question, answers]) => {
    const rank = find(question).findIndex(({ entry }) => answers.split(' ').includes(entry.url))
    return { question, rank }
  })
  expect(ranks.length).toBe(40)
  expect(ranks.filter(({ rank }) => rank < 0 || rank > 2)).toEqual([])
  expect(ranks.filter(({ rank }) => rank === 0).length).toBeGreaterThanOrEqual(38)
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
