import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'

const { origin, partners } = inject('site')
const { demo } = partners
const run = promisify(execFile)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'python-'))
  await writeFile(
    join(folder, 'investment_plans.py'),
    await (await fetch(`${origin}/client/investment_plans.py`)).text(),
  )
})
afterAll(() => rm(folder, { recursive: true }))

/** Starts a server until the end of the test, and returns its origin. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

const token = JSON.stringify({ access_token: 'a.b.c', expires_in: 3600 })
const list = JSON.stringify({ data: { total: 1, plans: [{ identifier: 'one' }] } })

/** Runs Python with a client for the demo partner, and returns what the code printed as JSON. */
async function runPython(code: string, secret = demo.clientSecret): Promise<unknown> {
  const program = `
import json, os, sys, investment_plans as ip
client = ip.InvestmentPlansClient(os.environ["API"], os.environ["ID"], os.environ["SECRET"], os.environ["NAME"], state_file="state.json")
${code}`
  const env = { ...process.env, API: origin, ID: demo.clientId, SECRET: secret, NAME: demo.shortName }
  const { stdout } = await run('python3', ['-W', 'error', '-c', program], { cwd: folder, env })
  return JSON.parse(stdout)
}

test('the Python client lists what the TypeScript client lists, and its next run gets a 304', async () => {
  const plans = await new InvestmentPlansClient({ baseUrl: origin, ...demo }).listPlans()
  expect(await runPython('print(json.dumps(client.list_plans()))')).toEqual(plans)
  expect(await runPython('print(json.dumps(client.fetch_plans().is_unchanged))')).toBe(true)
  expect((await stat(join(folder, 'state.json'))).mode & 0o777).toBe(0o600)
  const filtered = await runPython(
    'print(json.dumps([p["fundType"] for p in client.list_plans({"fundType": "COMMODITY"})]))',
  )
  expect(filtered).toEqual(['COMMODITY'])
})

test('watch_plans starts with the difference to the copy, also when the stored list is unchanged', async () => {
  const code = `
copy = json.loads(json.dumps(client.list_plans()))
missing = copy.pop(0)
copy[0]["name"] = "Old name"
copy.append({**missing, "identifier": "removed"})
changes = next(client.watch_plans(copy=copy, interval_seconds=0.01))
ids = lambda plans: [p["identifier"] for p in plans]
print(json.dumps([ids(changes.added) == [missing["identifier"]], ids(changes.removed), [b["name"] for b, a in changes.changed], changes.removed_share > 0]))`
  expect(await runPython(code)).toEqual([true, ['removed'], ['Old name'], true])
})

test('a damaged state file counts as none', async () => {
  for (const text of ['{"format": 1', '{"format": 1}', '{}', '[]']) {
    await writeFile(join(folder, 'state.json'), text)
    expect(await runPython('print(json.dumps(client.fetch_plans().is_unchanged))')).toBe(false)
  }
  // The last run has written a state. Each part of it that is damaged counts as none.
  const state = JSON.parse(await readFile(join(folder, 'state.json'), 'utf8')) as object
  for (const damage of [{ renew_at: null }, { expires_at: 'x' }, { token: 5 }, { lists: null }, { lists: { '': 5 } }]) {
    await writeFile(join(folder, 'state.json'), JSON.stringify({ ...state, ...damage }))
    expect(await runPython('print(json.dumps(client.fetch_plans().is_unchanged))')).toBe(!('lists' in damage))
  }
})

test('a response that is cut off is a failure like any other, after which watch_plans polls again', async () => {
  let requests = 0
  const url = await serve((request, response) => {
    if (request.method === 'POST') response.end(token)
    else if (++requests > 1) response.end(list)
    else {
      response.writeHead(200, { 'Content-Length': 500 })
      response.write('{"data":', () => response.destroy())
    }
  })
  const code = `
errors = []
local = ip.InvestmentPlansClient("${url}", "a", "b", "acme", retry_delays_seconds=())
changes = next(local.watch_plans(interval_seconds=0.01, on_error=errors.append))
print(json.dumps([[[error.code, error.status] for error in errors], changes.added]))`
  expect(await runPython(code)).toEqual([[['connection_failed', null]], [{ identifier: 'one' }]])
})

/** Lists the plans with the default options, except that pauses pass at once. Prints them, or the error, and the pauses. */
const listWithPauses = (url: string) => `
pauses = []
ip.time.sleep = pauses.append
now = ip.time.monotonic
ip.time.monotonic = lambda: now() + sum(pauses)
try:
    outcome = ip.InvestmentPlansClient("${url}", "a", "b", "acme").list_plans()
except ip.InvestmentPlansError as error:
    outcome = [error.status, error.code, error.retry_after_seconds]
print(json.dumps([outcome, pauses]))`

describe('retries', () => {
  const plans = [{ identifier: 'one' }]
  const other4xx = Array.from({ length: 100 }, (_, index) => 400 + index).filter(
    (status) => ![401, 429].includes(status),
  )
  test.each<[string, [status: number, retryAfter?: number][], unknown]>([
    [
      'after 1, 5 and 30 seconds, then the error',
      [[503], [500], [502], [504], [200]],
      [
        [504, 'unknown', null],
        [1, 5, 30],
      ],
    ],
    ['after 429', [[429]], [plans, [1]]],
    ['after a connection that is cut', [[0], [0]], [plans, [1, 5]]],
    [
      'after Retry-After, not beyond the deadline',
      [
        [503, 0],
        [503, 90],
        [503, 31],
      ],
      [
        [503, 'unknown', 31],
        [1, 90],
      ],
    ],
    ['not after a redirect', [[302]], [[302, 'unknown', null], []]],
  ])('%s', async (_, outcomes, expected) => {
    const rest = outcomes.values()
    const url = await serve((request, response) => {
      if (request.method === 'POST') return void response.end(token)
      const [status, retryAfter] = rest.next().value ?? [200]
      if (status === 0) return void request.socket.destroy()
      response.writeHead(status, retryAfter === undefined ? {} : { 'Retry-After': retryAfter })
      response.end(status === 200 ? list : '{}')
    })
    expect(await runPython(listWithPauses(url))).toEqual(expected)
  })

  test('never after another 4xx', async () => {
    const requests: number[] = []
    const rest = other4xx.values()
    const url = await serve((request, response) => {
      if (request.method === 'POST') return void response.end(token)
      const status = rest.next().value ?? 500
      requests.push(status)
      response.writeHead(status).end('{}')
    })
    const code = `
statuses = []
local = ip.InvestmentPlansClient("${url}", "a", "b", "acme")
for _ in range(${other4xx.length}):
    try:
        local.list_plans()
    except ip.InvestmentPlansError as error:
        statuses.append(error.status)
print(json.dumps(statuses))`
    expect(await runPython(code)).toEqual(other4xx)
    expect(requests).toEqual(other4xx)
  })
})

test.each([
  ['headers', 'HTTP/1.1 200 OK\r\nX-Drip: '],
  ['body', 'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n'],
])('a server that sends its %s byte by byte does not outlast the timeout', async (_, start) => {
  const url = await serve(({ socket }) => {
    socket.write(start)
    const drip = setInterval(() => socket.write('x'), 50)
    socket.on('close', () => clearInterval(drip)).on('error', () => {})
  })
  const code = `
local = ip.InvestmentPlansClient("${url}", "a", "b", "acme", timeout_seconds=0.3, retry_delays_seconds=())
started = ip.time.monotonic()
for _ in range(10):
    try:
        local.list_plans()
    except ip.InvestmentPlansError as error:
        outcome = [error.code, error.status, str(error)]
seconds = ip.time.monotonic() - started
for thread in ip.threading.enumerate()[1:]:
    thread.join(5)
print(json.dumps([outcome, seconds, ip.threading.active_count()]))`
  const [outcome, seconds, threads] = (await runPython(code)) as unknown[]
  expect(outcome).toEqual(['timeout', null, 'timeout: There was no complete response within 0.3 seconds.'])
  expect(seconds).toBeGreaterThanOrEqual(3)
  expect(seconds).toBeLessThan(10)
  expect(threads).toBe(1)
})

test('a token that cannot be renewed is used until it expires', async () => {
  const urls: string[] = []
  const url = await serve((request, response) => {
    urls.push(request.method === 'POST' ? 'token' : 'list')
    if (request.method === 'GET') response.end(list)
    else if (urls.length === 1) response.end(token)
    else response.writeHead(503, { 'Retry-After': '60' }).end('{}')
  })
  const code = `
start = ip.time.time()
local = ip.InvestmentPlansClient("${url}", "a", "b", "acme", retry_delays_seconds=())
outcomes = []
for seconds in (0, 0.95 * 3600, 0.95 * 3600 + 59, 0.95 * 3600 + 61, 3601):
    ip.time.time = lambda: start + seconds
    try:
        outcomes.append(len(local.list_plans()))
    except ip.InvestmentPlansError as error:
        outcomes.append(error.status)
print(json.dumps(outcomes))`
  expect(await runPython(code)).toEqual([1, 1, 1, 1, 503])
  expect(urls.join()).toBe('token,list,token,list,list,token,list,token')
})

test('Retry-After does not delay the renewal of a token beyond its end', async () => {
  const urls: string[] = []
  const url = await serve((request, response) => {
    urls.push(request.method === 'POST' ? 'token' : 'list')
    if (request.method === 'GET') response.end(list)
    else if (urls.length === 3) response.writeHead(503, { 'Retry-After': '86400' }).end('{}')
    else response.end(token)
  })
  const code = `
start = ip.time.time()
local = ip.InvestmentPlansClient("${url}", "a", "b", "acme", retry_delays_seconds=())
for seconds in (0, 0.95 * 3600, 3601):
    ip.time.time = lambda: start + seconds
    local.list_plans()
print("null")`
  await runPython(code)
  expect(urls.join()).toBe('token,list,token,list,token,list')
})

test('Retry-After can be a date', async () => {
  const dates = ['Thu, 01 Jan 2026 00:00:30 GMT', 'Wed, 31 Dec 2025 00:00:00 GMT', 'soon'].values()
  const url = await serve((_, response) => response.writeHead(400, { 'Retry-After': dates.next().value }).end('{}'))
  const code = `
ip.time.time = lambda: ${Date.UTC(2026, 0, 1) / 1000}
waits = []
for _ in range(3):
    try:
        ip.InvestmentPlansClient("${url}", "a", "b", "acme").list_plans()
    except ip.InvestmentPlansError as error:
        waits.append(error.retry_after_seconds)
print(json.dumps(waits))`
  expect(await runPython(code)).toEqual([30, 0, null])
})

test('a host that cannot exist and a token without a lifetime are errors of the client', async () => {
  const url = await serve((_, response) => response.end('{"access_token": "a.b.c", "expires_in": null}'))
  const code = `
outcomes = []
for url in ("http://exa..mple", "${url}"):
    try:
        ip.InvestmentPlansClient(url, "a", "b", "acme", retry_delays_seconds=()).list_plans()
    except ip.InvestmentPlansError as error:
        outcomes.append([error.status, error.code])
print(json.dumps(outcomes))`
  expect(await runPython(code)).toEqual([
    [null, 'connection_failed'],
    [200, 'unknown'],
  ])
})

test('the limits of both clients can be infinite', async () => {
  const unlimited = { timeoutMs: Infinity, deadlineMs: Infinity }
  const plans = await new InvestmentPlansClient({ baseUrl: origin, ...demo, ...unlimited }).listPlans()
  const code = `
unlimited = dict(timeout_seconds=float("inf"), deadline_seconds=float("inf"))
local = ip.InvestmentPlansClient(os.environ["API"], os.environ["ID"], os.environ["SECRET"], os.environ["NAME"], **unlimited)
print(json.dumps(local.list_plans()))`
  expect(await runPython(code)).toEqual(plans)
})

test('empty credentials and unknown filters are refused before any request, and the version is sent', async () => {
  const agents: unknown[] = []
  const url = await serve((request, response) => {
    agents.push(request.headers['user-agent'])
    response.end(request.method === 'POST' ? token : list)
  })
  const code = `
messages = []
def refuse(call):
    try:
        call()
    except ValueError as error:
        messages.append(str(error))
for name in ("base_url", "client_id", "client_secret", "short_name"):
    options = dict(base_url="${url}", client_id="a", client_secret="b", short_name="acme")
    refuse(lambda: ip.InvestmentPlansClient(**{**options, name: ""}))
for base_url in ("catalog.example.com", "https://user:hunter2@catalog.example.com", "user:hunter2@catalog.example.com"):
    refuse(lambda: ip.InvestmentPlansClient(**{**options, "base_url": base_url}))
local = ip.InvestmentPlansClient(**options)
refuse(lambda: local.list_plans({"curency": "KES"}))
refuse(lambda: next(local.watch_plans({"curency": "KES"})))
print(json.dumps([messages, local.list_plans({"currency": "KES"}), ip.CLIENT_VERSION]))`
  const unknown = 'There is no filter curency. The filters are categoryId, fundType, currency.'
  const [messages, plans, version] = (await runPython(code)) as unknown[]
  expect(messages).toEqual([
    ...['base_url', 'client_id', 'client_secret', 'short_name'].map((name) => `${name} is empty.`),
    'base_url must start with https://, not catalog.example.com',
    'base_url must not contain @, such as after a password.',
    'base_url must not contain @, such as after a password.',
    unknown,
    unknown,
  ])
  expect(plans).toEqual([{ identifier: 'one' }])
  expect(agents).toEqual(Array.from({ length: 2 }, () => `investment-plans-python/${String(version)}`))
})

test('a refusal of empty JSON is not reported as no JSON', async () => {
  const url = await serve((_, response) => response.writeHead(400).end('{}'))
  const code = `
try:
    ip.InvestmentPlansClient("${url}", "a", "b", "acme").list_plans()
except ip.InvestmentPlansError as error:
    print(json.dumps([error.status, error.message]))`
  expect(await runPython(code)).toEqual([400, 'The service answered with status 400.'])
})

test('a redirect is refused, because it would send the credentials to another address', async () => {
  const urls: string[] = []
  const url = await serve((request, response) => {
    urls.push(`${request.method} ${request.url}`)
    response.writeHead(302, { Location: '/elsewhere' }).end('Moved')
  })
  const code = `
try:
    ip.InvestmentPlansClient("${url}", "a", "b", "acme").list_plans()
except ip.InvestmentPlansError as error:
    print(json.dumps([error.status, error.code, error.message]))`
  const message = 'The service answered with status 302, and no JSON: Moved'
  expect(await runPython(code)).toEqual([302, 'unknown', message])
  expect(urls).toEqual(['POST /api/v3/partners/auth'])
})

test('a refusal is an error with code, status and request ID, which ends the watch', async () => {
  const code = `
try:
    next(client.watch_plans())
except ip.InvestmentPlansError as error:
    print(json.dumps([error.status, error.code, error.message, str(error).endswith(f"(request {error.request_id})")]))`
  await rm(join(folder, 'state.json'), { force: true })
  expect(await runPython(code, 'wrong')).toEqual([401, 'invalid_client', 'Client ID or client secret is wrong.', true])
})
