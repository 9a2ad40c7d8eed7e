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
  ['partialw', '/plans#partialwithdrawable'],
  ['invalid_client', '/errors#invalid_client'],
  ['wrong secret', '/errors#invalid_client'],
  ['rate limit', '/errors#rate_limited'],
  ['nightly sync', '/sync#the-sync-job'],
  ['InvestmentPlansError', '/client#what-the-clients-do'],
  ['leaked secret', '/tokens#if-a-secret-or-token-leaks'],
  ['stop offering', '/sync#apply-a-list'],
  ['availability', '/promises#availability'],
  ['breaking change', '/changes'],
  ['mock server', '/testing#mock-server'],
  ['hotlinking', '/plans#artwork-and-documents'],
  ['where to test', '/testing'],
  ['tokn', '/tokens'],
  ['place an order', '/limits#orders-and-prices'],
  ['max length', '/reference#Plan'],
  ['fund mannager', '/plans#plantype-fundmanager'],
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
  'what happens when your database is down': '/promises#outage',
  'how quickly does a new plan appear': '/promises#freshness',
  'a plan is missing from my list': '/plans#which-plans',
  'how do I filter by currency': '/plans#currency /plans#filters',
  'can I combine filters': '/plans#filters',
  'is the list paginated': '/limits#pagination /plans',
  'what does isInvestable false mean':
    '/plans#which-plans /plans#isinvestable-noninvestablenote /reference#Plan.isInvestable',
  'what is the lock-in period': '/plans#lockinperiod /reference#Plan.lockInPeriod',
  'are the returns before or after fees': '/plans#performance1-to-performance10',
  'what is the minimum amount in dollars':
    '/plans#mininvestableamounts-mintopupamounts /reference#Plan.minInvestableAmounts',
  'can I cache the images': '/plans#artwork-and-documents',
  'which disclaimers must I show': '/plans#disclaimers /support#disclaimers-that-we-require /support',
  'can I call the API from the browser': '/limits#browser-origins',
  'how do I test without real credentials': '/testing#mock-server /testing /testing#sandbox',
  'do you have a sandbox': '/testing#sandbox',
  'can I use Postman': '/testing#api-tools',
  'is there a Python library': '/client#python',
  'how do I install the npm package': '/client#typescript-and-javascript',
  'which IP addresses should we allow in our firewall': '/limits#ip-addresses',
  'which TLS versions do you support': '/limits#tls',
  'how big is the response': '/limits#size-and-compression',
  'will you break the API without notice': '/changes',
  'what is your uptime': '/promises#availability',
  'who do I contact for support': '/support',
}

/** As developers type: a few words, often others than those of the pages. */
const keywords: Record<string, string> = {
  'page through results': '/limits#pagination /plans',
  'fund disappeared': '/plans#which-plans /sync#apply-a-list',
  'money locked in how long': '/plans#lockinperiod /reference#Plan.lockInPeriod',
  'show the fund logo': '/plans#artwork-and-documents /reference#Plan.imageUrl',
  mtls: '/limits#tls',
  'minimum investment amount format':
    '/plans#mininvestableamounts-mintopupamounts /reference#Plan.minInvestableAmounts',
  'no top-up possible': '/plans#mininvestableamounts-mintopupamounts /reference#Plan.minTopUpAmounts',
  'max requests per second': '/limits#plan-requests /limits#token-requests /limits#fair-use /limits',
  'too many requests': '/errors#rate_limited',
  'base64 client id and secret': '/tokens#get-a-token',
  'bearer header': '/tokens#use-the-token /errors#missing_token',
  'share a token between two servers': '/tokens#reuse-and-renew-tokens',
  'credentials leaked on github': '/tokens#if-a-secret-or-token-leaks',
  'new client secret': '/tokens#rotate-the-client-secret',
  axios: '/tokens#javascript-axios-oauth-client',
  'Java SDK': '/client#other-languages /tokens#java-httpclient',
  'difference between name and coolName': '/plans#coolname-name /reference#Plan.coolName /reference#Plan.name',
  'currency of returns': '/plans#performance1-to-performance10',
  'round performance decimals': '/plans#performance1-to-performance10',
  'date of the performance figures': '/plans#performancedate /reference#Plan.performanceDate',
  'risk level order': '/plans#productrisklevel /reference#Plan.productRiskLevel /reference#RiskLevel.id',
  'HTML in about text': '/plans#values /reference#Plan.about',
  'arabic right to left': '/plans#values /testing#eg',
  'null category': '/plans#category /plans#values /testing#na /reference#Plan.category',
  'fund closed to new customers':
    '/plans#which-plans /plans#isinvestable-noninvestablenote /reference#Plan.isInvestable',
  'sell part of the holding': '/reference#Plan.partialWithdrawable',
  'management fees': '/plans#performance1-to-performance10',
  'cron job': '/sync#run-it-every-hour /sync#the-sync-job',
  'If-None-Match': '/sync#request-a-list-only-if-it-has-changed /reference#listPlans.If-None-Match',
  gzip: '/limits#size-and-compression',
  'second country': '/limits#two-countries',
  'health check': '/limits#status-page',
  'CORS error': '/limits#browser-origins',
  'end of life of version 3': '/changes',
  'unknown field breaks my parser': '/changes',
  'wrong figure in a fund': '/support#incorrect-data /support',
  'swagger file': '/reference /testing#api-tools',
  'fake server for unit tests': '/testing#mock-server',
  'test account': '/testing#sandbox',
  'what to check before going live': '/promises#go-live',
}

test.each([
  ['natural questions', questions, 38],
  ['short queries', keywords, 36],
])('of 40 %s, most find an answer first, and all among the first three', (_, asked, minFirst) => {
  const ranks = Object.entries(asked).map(([question, answers]) => {
    const rank = find(question).findIndex(({ entry }) => answers.split(' ').includes(entry.url))
    return { question, rank }
  })
  expect(ranks.length).toBe(40)
  expect(ranks.filter(({ rank }) => rank < 0 || rank > 2)).toEqual([])
  expect(ranks.filter(({ rank }) => rank === 0).length).toBeGreaterThanOrEqual(minFirst)
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
