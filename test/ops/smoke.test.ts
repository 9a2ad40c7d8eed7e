import { expect, test, vi } from 'vitest'
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

const refuseUrllib: typeof answer = (url, method, headers) =>
  headers.get('User-Agent')?.startsWith('Python-urllib/')
    ? new Response('error code: 1010', { status: 403 })
    : answer(url, method, headers)
const refuseAll = () => new Response('There is no such Worker.', { status: 404 })
const [own, foreign] = ['catalog.example.com', 'catalog.acme.workers.dev']

// smoke-call.test.ts waits for another version. The main job has the credentials of a partner.
test.each<[string, typeof answer, string, RegExp, number]>([
  ['passes', answer, own, / until version new [^]*^7 passed, 0 failed$/m, 0],
  [
    'fails where Browser Integrity Check refuses',
    refuseUrllib,
    own,
    /^FAIL {2}Python’s urllib .*1010[^]*6 passed, 1/m,
    3,
  ],
  ['only warns of it where nobody can switch it off', refuseUrllib, foreign, /^WARN[^]*^6 passed, 0 failed$/m, 0],
  ['fails there for any other reason', refuseAll, foreign, /^0 passed, 6 failed$/m, 3],
  ['ends when nothing answers', () => Response.error(), own, /^FAIL {2}[^\n]*: fetch failed\n$/, 2],
])('the smoke test %s', async (_, respond, host, printed, exitCode) => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, { method = 'GET', headers } = {}) => {
    const response = respond(new URL(input instanceof Request ? input.url : input), method, new Headers(headers))
    if (response.type === 'error') throw new TypeError('fetch failed')
    return response
  })
  const args = ['smoke', '--url', `https://${host}`, ...(exitCode === 0 ? ['--version', 'catalog=new'] : [])]
  const clock = { nowMs: () => 0, sleep: async () => {} }
  const { code, stdout } = await runCommand(args, { variables: {}, clock })
  expect(stdout).toMatch(printed)
  expect(code).toBe(exitCode)
})
