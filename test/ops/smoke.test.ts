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
  ['passes', answer, /^6 passed, 0 failed$/m, 0],
  ['fails when something else answers', refuseAll, /^0 passed, 6 failed$/m, 3],
  ['ends when nothing answers', () => Response.error(), /^FAIL {2}[^\n]*: fetch failed\n$/, 2],
])('the smoke test %s', async (_, respond, printed, exitCode) => {
  answerWith(respond)
  const { code, stdout } = await runCommand(['smoke', '--url', origin], { variables: {}, clock })
  expect(stdout).toMatch(printed)
  expect(code).toBe(exitCode)
})

test('the smoke test of a deploy says that it waits for the version', async () => {
  answerWith(answer)
  const lines: string[] = []
  const target = { origin, version: { worker: 'catalog', id: 'new' }, variables: {} }
  expect(await runSmokeTest(target, clock, (line) => lines.push(line))).toBe('passed')
  expect(lines[0]).toContain('until version new ')
})
