import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startFront } from '../account/front.ts'

const folder = join(import.meta.dirname, '../../src/site/samples')

/** Those whose programs are here. CI installs all of them later, and runs each sample against the service. */
const samples = [
  ['sh', 'curl.sh', 'jq'],
  ['node', 'javascript.mjs', 'node'],
  ['python3', 'python.py', 'python3'],
  ['php', 'php.php', 'php'],
  ['go', 'go.go', 'go'],
].filter(([, , needed = '']) => spawnSync('sh', ['-c', `command -v ${needed}`]).status === 0)

const refusal = { error: 'invalid_client', message: 'Client ID or client secret is wrong.', requestId: 'r1' }

/** The default user agents of the languages. Browser Integrity Check is known to refuse the first two. */
const defaultAgent = /^($|Python-urllib|Go-http-client|curl|node)/

/** Every request of the service gets the answer, unless its user agent is a default one. @param body is cut off at its `✂`. */
async function startService(findAnswer: (path: string) => [status: number, body: string]): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = findAnswer(request.url ?? '')
    const [start = '', ...rest] = body.split('✂')
    if (rest.length === 0) response.writeHead(status).end(start)
    else response.writeHead(status, { 'Content-Length': 500 }).write(start, () => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const service = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const front = await startFront(() => Promise.resolve(service), { isRefused: (agent) => defaultAgent.test(agent) })
  onTestFinished(front.close)
  return front.url
}

async function run(
  program: string,
  file: string,
  api: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, API: api, CLIENT_ID: 'a', CLIENT_SECRET: 'b', SHORT_NAME: 'acme' }
  const args = program === 'go' ? ['run', file] : [file]
  return promisify(execFile)(program, args, { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test.each(samples)('the sample sends a User-Agent of its own, and lists the plans: %s %s', async (program, file) => {
  const plans = [{ identifier: 'one', coolName: 'First' }]
  const api = await startService((path) => [
    200,
    JSON.stringify(path.endsWith('/auth') ? { access_token: 't' } : { data: { plans } }),
  ])
  expect(await run(program, file, api)).toMatchObject({ code: 0, stdout: 'one\tFirst\n' })
})

test.each(samples)(
  'the sample prints the status and the start of an answer that it can’t use: %s %s',
  async (program, file) => {
    const page = `<!doctype html>\n<title>Bad gateway</title>\n${'x'.repeat(400)}`
    const problems: [number, string, string][] = [
      [403, 'error code: 1010', '403: error code: 1010'],
      [502, page, `502: ${page.slice(0, 300)}`],
      [200, '<h1>Log in to this network</h1>', '200: <h1>Log in to this network</h1>'],
      [502, '', '502: '],
      [401, JSON.stringify(refusal), `401: ${JSON.stringify(refusal)}`],
      [502, '{"errors":["down"]}', '502: {"errors":["down"]}'],
      [201, '{"access_token":"t"}', '201: {"access_token":"t"}'],
      ...['[1,2]', '"x"', 'null'].flatMap((json): [number, string, string][] => [
        [200, json, `200: ${json}`],
        [502, json, `502: ${json}`],
      ]),
    ]
    const api = await startService((path) => {
      const [status, body] = problems[Number(path.split('/')[1])] ?? [404, '']
      return [status, body]
    })
    await Promise.all(
      problems.map(async ([, , problem], index) => {
        const { code, stdout, stderr } = await run(program, file, `${api}/${index}`)
        expect([problem, code === 0, stdout]).toEqual([problem, false, ''])
        expect(stderr).toContain(problem)
        expect(stderr).not.toMatch(/x{301}|Traceback|SyntaxError|TypeError|Warning|Uncaught|parse error|Cannot/)
      }),
    )
  },
)

test.each(samples)('the sample fails in a few lines when an answer is cut off: %s %s', async (program, file) => {
  const api = await startService(() => [200, '{"access_token":"t",✂'])
  const { code, stdout, stderr } = await run(program, file, api)
  expect([code === 0, stdout]).toEqual([false, ''])
  expect(stderr).not.toMatch(/Traceback|SyntaxError|Warning|parse error/)
  expect(stderr).not.toBe('')
})
