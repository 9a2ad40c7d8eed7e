import { expect, test, vi } from 'vitest'
import { runSmokeTest } from '../../src/ops/core/service/smoke-test.ts'
import { runCommand } from './support/run-ops.ts'

const refusals: Record<string, [status: number, error: string]> = {
  'POST /auth': [400, 'invalid_request'],
  'POST /auth Basic': [401, 'invalid_client'],
  'GET /any/plans': [401, 'missing_token'],
  'GET /any/plans Bearer': [401, 'invalid_token'],
}

/** Answers as the Worker and the site do when there are no credentials. */
function answer(url: URL, method: string, headers: Headers): Response {
  if (url.pathname === '/') {
    const policy = "default-src 'none'; base-uri 'none'"
    const siteHeaders = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy }
    return new Response('', { headers: siteHeaders })
  }
  const scheme = headers.get('Authorization')?.split(' ').slice(0, 1) ?? []
  const path = url.pathname.replace('/api/v3/partners', '')
  const [status, error] = refusals[[method, path, ...scheme].join(' ')] ?? [404, 'not_found']
  return Response.json(
    { error, requestId: '1' },
    { status, headers: { 'X-Request-Id': '1', 'X-Worker-Version': 'new' } },
  )
}

const [plainRequest, redirectPlain] = [
  /^ok {4}a token request over http:\/\/ returns 400 /m,
  (url: URL, method: string, headers: Headers) =>
    url.protocol === 'http:'
      ? new Response(null, { status: 301, headers: { Location: `https://${url.host}${url.pathname}` } })
      : answer(url, method, headers),
]
const refuseAll = () => new Response('There is no such Worker.', { status: 404 })

// smoke-call.test.ts waits for another version. The main job has the credentials of a partner.
const origin = 'https://catalog.example.com'
const clock = { nowMs: () => 0, sleep: async () => {} }

function answerWith(respond: typeof answer): void {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, { method = 'GET', headers } = {}) => {
    const response = respond(new URL(input instanceof Request ? input.url : input), method, new Headers(headers))
    if (response.type === 'error') throw new TypeError('fetch failed')
    return response
  })
}

test.each<[string, typeof answer, RegExp, number]>([
  ['passes', answer, /^7 passed, 0 failed$/m, 0],
  ['fails when something else answers', refuseAll, /^0 passed, 7 failed$/m, 3],
  ['ends when nothing answers', () => Response.error(), /^FAIL {2}[^\n]*: fetch failed\n$/, 2],
])('the smoke test %s', async (_, respond, printed, exitCode) => {
  answerWith(respond)
  const { code, stdout } = await runCommand(['smoke', '--url', origin], { variables: {}, clock })
  expect(stdout).toMatch(printed)
  expect(code).toBe(exitCode)
})

test.each<[string, typeof answer, RegExp, number]>([
  ['https://catalog.example.com:8443', answer, plainRequest, 0],
  [
    origin,
    redirectPlain,
    /^FAIL {2}a token request over http:[^\n]* it is redirected \(301\): see "A domain of your own"/m,
    3,
  ],
  ['https://catalog.acme.workers.dev', redirectPlain, /^6 passed, 0 failed$/m, 0],
  ['http://localhost:8787', answer, /^6 passed, 0 failed$/m, 0],
])('a token request over http, %s: %#', async (url, respond, printed, exitCode) => {
  answerWith(respond)
  const { code, stdout } = await runCommand(['smoke', '--url', url], { variables: {}, clock })
  expect(stdout).toMatch(printed)
  const hasHttp = url.startsWith('https:') && !url.endsWith('.workers.dev')
  expect({ code, hasHttp: stdout.includes('over http://') }).toEqual({
    code: exitCode,
    hasHttp,
  })
  const plain = vi
    .mocked(fetch)
    .mock.calls.filter(([one]) => typeof one === 'string' && one.startsWith('http:') && url.startsWith('https:'))
  // Nothing secret, and no redirect is followed.
  for (const [, init] of plain) expect(init).toMatchObject({ method: 'POST', headers: {}, redirect: 'manual' })
  expect(plain).toHaveLength(hasHttp ? 1 : 0)
})

test('the smoke test of a deploy says that it waits for the version', async () => {
  answerWith(answer)
  const lines: string[] = []
  const target = { origin, version: { workerName: 'catalog', id: 'new' }, variables: {} }
  expect(await runSmokeTest(target, clock, (line) => lines.push(line))).toMatchObject({ outcome: 'passed' })
  expect(lines[0]).toContain('until version new ')
})
