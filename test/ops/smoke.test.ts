import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runCommand } from './support/run-ops.ts'

async function startServer(listener: RequestListener): Promise<URL> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/**
 * Answers as the Worker and the site do when there are no credentials.
 * @param findVersion is asked for every request. @param refusedAgents are refused as by Browser Integrity Check.
 */
function startService(findVersion: () => string, refusedAgents = /^$/): Promise<URL> {
  const refusals: Record<string, [number, string]> = {
    'POST /auth': [400, 'invalid_request'],
    'POST /auth Basic': [401, 'invalid_client'],
    'GET /any/plans': [401, 'missing_token'],
    'GET /any/plans Bearer': [401, 'invalid_token'],
  }
  return startServer((request, response) => {
    const { method, url = '', headers } = request
    if (refusedAgents.test(headers['user-agent'] ?? '')) {
      response.writeHead(403).end('error code: 1010')
      return
    }
    if (url === '/') {
      const policy = "default-src 'none'; base-uri 'none'"
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy }).end()
      return
    }
    const scheme = headers.authorization?.split(' ').slice(0, 1) ?? []
    const path = url.replace('/api/v3/partners', '')
    const [status, error] = refusals[[method, path, ...scheme].join(' ')] ?? [404, 'not_found']
    response.writeHead(status, { 'X-Request-Id': '1', 'X-Worker-Version': findVersion() })
    response.end(JSON.stringify({ error, requestId: '1' }))
  })
}

/** Without the credentials of a partner, and without pauses. Requests for `targets` go to loopback. */
function smoke(args: string[], targets: Record<string, string> = {}) {
  const send = globalThis.fetch
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const { host, pathname, search } = new URL(input instanceof Request ? input.url : input)
    return send(targets[host] === undefined ? input : new URL(pathname + search, targets[host]), init)
  })
  onTestFinished(() => spy.mockRestore())
  return runCommand(['smoke', ...args], { variables: {}, clock: { nowMs: () => 0, sleep: async () => {} } })
}

test('the smoke test waits until the wanted version answers every request', async () => {
  let requests = 0
  // The version before answers the first three requests, and every other one of the next ten.
  const service = await startService(() => (++requests < 4 || (requests < 14 && requests % 2 === 0) ? 'old' : 'new'))
  const { code, stdout } = await smoke(['--url', service.origin, '--version', 'catalog=new'])
  expect(stdout).toContain('7 passed, 0 failed')
  expect([code, requests]).toEqual([0, 14])
})

test.each([
  ['fails the smoke test', 'catalog.example.com', 'FAIL', '6 passed, 1 failed', 3],
  ['is a warning, because nobody can switch it off there', 'catalog.acme.workers.dev', 'WARN', '6 passed, 0 failed', 0],
])('Browser Integrity Check %s: %s', async (_, host, level, summary, exitCode) => {
  const service = await startService(() => 'new', /^Python-urllib\//)
  const { code, stdout } = await smoke(['--url', `https://${host}`, '--version', 'catalog=new'], {
    [host]: service.origin,
  })
  expect(stdout).toMatch(new RegExp(`^${level}  Python’s urllib reaches the service .*1010`, 'm'))
  expect(stdout).toContain(summary)
  expect(code).toBe(exitCode)
})

test('at workers.dev, any other failure fails the smoke test', async () => {
  const host = 'catalog.acme.workers.dev'
  const server = await startServer((_, response) => void response.writeHead(404).end('There is no such Worker.'))
  const { code, stdout } = await smoke(['--url', `https://${host}`], { [host]: server.origin })
  expect(stdout).toContain('0 passed, 6 failed')
  expect(code).toBe(3)
})

test('an address that does not answer ends the smoke test', async () => {
  const { code, stdout } = await smoke(['--url', 'http://127.0.0.1:1'])
  expect(stdout).toMatch(/^FAIL {2}a token request without credentials returns 400 .*: fetch failed: .*\n$/)
  expect(code).toBe(2)
})
