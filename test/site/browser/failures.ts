// Failures of the API that both the Try it page and the plans page must explain.
import type { Page } from 'playwright-core'
import { refusals } from '../../../src/api/error-codes.ts'
import { advice } from '../../../src/site/error-advice.ts'
import type { Credentials } from './provided-site.ts'

const { message } = refusals.invalid_client
/** A name, what is wrong with the credentials, and the message and fix that the page must show. */
export const wrongCredentials: [string, Partial<Credentials>, string, string][] = [
  ['a wrong secret', { clientSecret: 'wrong' }, message, advice.invalid_client.fix],
  ['credentials beyond Latin-1', { clientId: 'Ünknown', clientSecret: 'с' }, message, advice.invalid_client.fix],
]

/** 503 is a response of the API, 200 and 502 are HTML of a proxy. */
export async function failWith(page: Page, failure: 200 | 502 | 503 | 'no connection'): Promise<void> {
  await page.unrouteAll()
  await page.route('**/api/**', (route) => {
    if (failure === 'no connection') return route.abort()
    if (failure !== 503)
      return route.fulfill({ status: failure, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' })
    const body = { message: refusals.unavailable.message, error: 'unavailable', requestId: crypto.randomUUID() }
    return route.fulfill({ status: 503, headers: { 'Retry-After': '5' }, json: body })
  })
}
