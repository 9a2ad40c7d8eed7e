import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { prefersHtml } from '../../../src/worker/http/not-found.ts'
import { worker } from '../support/isolate.ts'

const chromium = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

test.each<[boolean, string | undefined]>([
  [true, chromium],
  [true, 'Text/HTML'],
  [true, 'text/html;level=1, */*;q=0.01'],
  [true, 'application/json;q=0.5, text/html ; q=0.6'],
  [false, undefined],
  [false, ''],
  [false, '*/*'],
  [false, 'application/json, text/plain, */*'],
  [false, 'application/json, text/html'],
  [false, 'application/json, text/html;q=0.9'],
  [false, 'text/html;q=0.5, */*'],
  [false, 'text/html;q=0'],
  [false, 'text/html;q=x'],
  [false, 'text/*, text/htmlx'],
])('%s: a page is preferred by %j', (expected, accept) => {
  expect(prefersHtml(accept)).toBe(expected)
})

test.each([',', ';', ' ', ';q=', '\u2028'])('a long header of %j takes no time', (part) => {
  const startMs = Date.now()
  expect(prefersHtml(`${part.repeat(50_000)}x`)).toBe(false)
  expect(Date.now() - startMs).toBeLessThan(500)
})

test.each(['/nothing', '/apiary', '/no/api/', '/'])('a browser gets the site’s page for %s', async (path) => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const headers = { ETag: '"a"', 'Content-Type': 'text/html', 'Cache-Control': 'public' }
  const fetchFile = vi.fn<Fetcher['fetch']>(async () => new Response('Page not found', { headers }))
  for (const [method, text] of [
    ['GET', 'Page not found'],
    ['HEAD', ''],
    ['POST', 'Page not found'],
  ] as const) {
    const request = new Request(`https://catalog.example.com${path}?x`, { method, headers: { Accept: chromium } })
    const bindings = { ...env, ASSETS: { fetch: fetchFile } } as never
    const response = await worker.fetch(request, bindings, createExecutionContext())
    expect([response.status, await response.text()]).toEqual([404, text])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    })
  }
  expect(fetchFile.mock.calls).toEqual(Array.from({ length: 3 }, () => [new URL('https://catalog.example.com/404')]))
})
