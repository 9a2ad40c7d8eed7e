import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.ts'

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
gone = copy.pop(0)
copy[0]["name"] = "Old name"
copy.append({**gone, "identifier": "removed"})
changes = next(client.watch_plans(copy=copy, interval_seconds=0.01))
ids = lambda plans: [p["identifier"] for p in plans]
print(json.dumps([ids(changes.added) == [gone["identifier"]], ids(changes.removed), [b["name"] for b, a in changes.changed], changes.removed_share > 0]))`
  expect(await runPython(code)).toEqual([true, ['removed'], ['Old name'], true])
})

test('a damaged state file counts as none', async () => {
  for (const text of ['{"format": 1', '{"format": 1}', '{}', '[]']) {
    await writeFile(join(folder, 'state.json'), text)
    expect(await runPython('print(json.dumps(client.fetch_plans().is_unchanged))')).toBe(false)
  }
})

test('a response that is cut off is a failure like any other, after which watch_plans asks again', async () => {
  let requests = 0
  const server = createServer((request, response) => {
    if (request.method === 'POST') response.end(JSON.stringify({ access_token: 'a.b.c', expires_in: 3600 }))
    else if (++requests > 1) response.end('{"data":{"total":1,"plans":[{"identifier":"one"}]}}')
    else {
      response.writeHead(200, { 'Content-Length': 500 })
      response.write('{"data":', () => response.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const code = `
errors = []
local = ip.InvestmentPlansClient("http://127.0.0.1:${port}", "a", "b", "acme")
changes = next(local.watch_plans(interval_seconds=0.01, on_error=errors.append))
print(json.dumps([[type(error).__name__ for error in errors], changes.added]))`
    expect(await runPython(code)).toEqual([['OSError'], [{ identifier: 'one' }]])
  } finally {
    server.close()
  }
})

test('a refusal of empty JSON is not reported as no JSON', async () => {
  const server = createServer((_, response) => response.writeHead(502).end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const code = `
try:
    ip.InvestmentPlansClient("http://127.0.0.1:${port}", "a", "b", "acme").list_plans()
except ip.InvestmentPlansError as error:
    print(json.dumps([error.status, error.message]))`
    expect(await runPython(code)).toEqual([502, 'The service answered with status 502.'])
  } finally {
    server.close()
  }
})

test('a redirect is refused, because it would send the credentials to another address', async () => {
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(`${request.method} ${request.url}`)
    response.writeHead(302, { Location: '/elsewhere' }).end('Moved')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const code = `
try:
    ip.InvestmentPlansClient("http://127.0.0.1:${port}", "a", "b", "acme").list_plans()
except ip.InvestmentPlansError as error:
    print(json.dumps([error.status, error.code, error.message]))`
    const message = 'The service answered with status 302, and no JSON: Moved'
    expect(await runPython(code)).toEqual([302, 'unknown', message])
    expect(urls).toEqual(['POST /api/v3/partners/auth'])
  } finally {
    server.close()
  }
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
