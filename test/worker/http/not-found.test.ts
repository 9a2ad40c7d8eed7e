import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { worker } from '../support/isolate.ts'

const chromium = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

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
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 404, text })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    })
  }
  expect(fetchFile.mock.calls).toEqual(Array.from({ length: 3 }, () => [new URL('https://catalog.example.com/404')]))
})
