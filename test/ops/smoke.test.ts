import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { isRefusedAgent, startFront } from '../account/front.ts'

const program = resolve(import.meta.dirname, '../../src/ops/smoke.ts')
const loopback = resolve(import.meta.dirname, '../account/loopback-fetch.ts')

/** Answers as the Worker and the site do when there are no credentials. @param findVersion is asked for every request. */
async function startService(findVersion: () => string): Promise<URL> {
  const refusals: Record<string, [number, string]> = {
    'POST /auth': [400, 'invalid_request'],
    'POST /auth Basic': [401, 'invalid_client'],
    'GET /any/plans': [401, 'missing_token'],
    'GET /any/plans Bearer': [401, 'invalid_token'],
  }
  const server = createServer((request, response) => {
    const { method, url = '', headers } = request
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/** Requests for `targets` go to loopback. */
async function smoke(args: string[], targets = {}): Promise<{ code: number; output: string }> {
  const env = { ...process.env, CLIENT_ID: '', CLIENT_SECRET: '', SHORT_NAME: '' }
  const variables = { ...env, LOOPBACK_TARGETS: JSON.stringify(targets) }
  const run = promisify(execFile)(process.execPath, ['--import', loopback, program, ...args], { env: variables })
  return run.then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
  )
}

test('the smoke test waits until the wanted version answers every request', async () => {
  let requests = 0
  // The version before answers the first three requests, and every other one of the next ten.
  const service = await startService(() => (++requests < 4 || (requests < 14 && requests % 2 === 0) ? 'old' : 'new'))
  const { code, output } = await smoke(['--url', service.origin, '--version', 'catalog=new'])
  expect(output).toContain('7 passed, 0 failed')
  expect([code, requests]).toEqual([0, 14])
})

test.each([
  ['fails the smoke test', 'catalog.example.com', 'FAIL', '6 passed, 1 failed', 3],
  ['is a warning, because nobody can switch it off there', 'catalog.acme.workers.dev', 'WARN', '6 passed, 0 failed', 0],
])('Browser Integrity Check %s: %s', async (_, host, level, summary, exitCode) => {
  const service = await startService(() => 'new')
  const front = await startFront(() => Promise.resolve(service), { isRefused: isRefusedAgent })
  onTestFinished(front.close)
  const { code, output } = await smoke(['--url', `https://${host}`, '--version', 'catalog=new'], { [host]: front.url })
  expect(output).toMatch(new RegExp(`^${level}  Python’s urllib reaches the service .*1010`, 'm'))
  expect(output).toContain(summary)
  expect(code).toBe(exitCode)
})

test('at workers.dev, any other failure fails the smoke test', async () => {
  const host = 'catalog.acme.workers.dev'
  const front = await startFront(() => Promise.resolve(undefined))
  onTestFinished(front.close)
  const { code, output } = await smoke(['--url', `https://${host}`], { [host]: front.url })
  expect(output).toContain('0 passed, 6 failed')
  expect(code).toBe(3)
})

test('an address that does not answer ends the smoke test', async () => {
  const { code, output } = await smoke(['--url', 'http://127.0.0.1:1'])
  expect(output).toMatch(/^FAIL {2}a token request without credentials returns 400 .*: fetch failed: .*\n$/)
  expect(code).toBe(2)
})
