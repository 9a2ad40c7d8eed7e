import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve } from '../support/loopback-server.ts'
import { runFile } from '../support/run-file.ts'

const folder = join(import.meta.dirname, '../../src/site/samples')

/** Those whose programs are here: every night, all of them. */
const samples = [
  ['sh', 'curl.sh', 'curl'],
  ['node', 'javascript.mjs', 'node'],
  ['python3', 'python.py', 'python3'],
  ['php', 'php.php', 'php'],
  ['go', 'go.go', 'go'],
].filter(([, , needed]) => spawnSync('sh', ['-c', `command -v ${needed}`]).status === 0)

const refusal = { error: 'invalid_client', message: 'Client ID or client secret is wrong.', requestId: 'r1' }

/** The default user agents of the languages. Browser Integrity Check is known to refuse the first two. */
const defaultAgent = /^($|Python-urllib|Go-http-client|curl|node)/

/** Every request of the service gets the answer, unless its user agent is a default one. @param body is cut off at its `✂`. */
const startService = (findAnswer: (path: string) => [status: number, body: string]) =>
  serve((request, response) => {
    if (defaultAgent.test(request.headers['user-agent'] ?? '')) {
      response.writeHead(403).end('error code: 1010')
      return
    }
    const [status, body] = findAnswer(request.url ?? '')
    const [start = '', ...rest] = body.split('✂')
    if (rest.length === 0) response.writeHead(status).end(start)
    else response.writeHead(status, { 'Content-Length': 500 }).write(start, () => response.destroy())
  })

async function run(
  program: string,
  file: string,
  api: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, API: api, CLIENT_ID: 'a', CLIENT_SECRET: 'b', SHORT_NAME: 'acme' }
  const args = program === 'go' ? ['run', file] : [file]
  return runFile(program, args, { cwd: folder, env }).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test.each(samples)('the sample sends a User-Agent of its own, and lists the plans: %s %s', async (program, file) => {
  const plans = [{ identifier: 'one', coolName: 'First' }]
  const stdout = program === 'sh' ? JSON.stringify({ data: { plans } }) : 'one\tFirst\n'
  const api = await startService((path) => [
    200,
    JSON.stringify(
      path === '/api/v3/partners/auth'
        ? { access_token: 't' }
        : path === '/api/v3/partners/acme/plans'
          ? { data: { plans } }
          : {},
    ),
  ])
  for (const address of [api, `${api}/`]) expect(await run(program, file, address)).toMatchObject({ code: 0, stdout })
})

test.each(samples)('the sample prints the status and the start of a refusal: %s %s', async (program, file) => {
  const page = `<!doctype html>\n<title>Bad gateway</title>\n${'x'.repeat(400)}`
  const problems: [number, string][] = [
    [403, 'error code: 1010'],
    [502, page],
    [502, ''],
    [401, JSON.stringify(refusal)],
    [502, '[1,2]'],
  ]
  const api = await startService((path) => {
    return problems[Number(path.split('/')[1])] ?? [404, '']
  })
  await Promise.all(
    problems.map(async ([status, body], index) => {
      const { code, stdout, stderr } = await run(program, file, `${api}/${index}`)
      const hasSucceeded = code === 0
      expect({ status, body, hasSucceeded, stdout }).toEqual({ status, body, hasSucceeded: false, stdout: '' })
      expect(stderr).toContain(String(status))
      expect(stderr).toContain(body.slice(0, 300))
      expect(stderr).not.toMatch(/x{301}|Traceback|SyntaxError|TypeError|Warning|Uncaught|parse error|Cannot/)
    }),
  )
})

test.each(samples)('the sample says in one line that there is no connection: %s %s', async (program, file) => {
  // Nothing listens at the client's end of a connection, and no other program gets its port.
  const taken = connect(Number(new URL(await startService(() => [404, ''])).port), '127.0.0.1')
  await once(taken, 'connect')
  const { code, stdout, stderr } = await run(program, file, `http://127.0.0.1:${taken.localPort}`)
  taken.destroy()
  expect({ hasSucceeded: code === 0, stdout }).toEqual({ hasSucceeded: false, stdout: '' })
  expect(stderr.trim()).toMatch(/^.*(refused|connect).*$/i)
})

test.each(samples)('the sample fails when an answer is cut off, or no JSON object: %s %s', async (program, file) => {
  const bodies = ['{"access_token":"t",✂', '<h1>Log in to this network</h1>', '[1,2]']
  const api = await startService((path) => [200, bodies[Number(path.split('/')[1])] ?? ''])
  for (const index of bodies.keys()) {
    const { code, stdout, stderr } = await run(program, file, `${api}/${index}`)
    // curl prints what it got. The others print a line of each plan.
    const found = { index, hasSucceeded: code === 0, hasPlan: stdout.includes('\t'), isSilent: stderr === '' }
    expect(found).toEqual({ index, hasSucceeded: false, hasPlan: false, isSilent: false })
  }
})
