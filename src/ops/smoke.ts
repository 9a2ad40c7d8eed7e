// npm run -s smoke -- --url https://… : calls a running service as a partner does, and prints one line per check. The
// credentials are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME. Without them it checks only refusals and the site.
// --version WORKER=ID asks for one version, requires every answer of the API to come from it, and waits while it spreads.
import { parseArgs } from 'node:util'
import { isJsonObject } from '../json.ts'
import { readOrigin } from '../api/origin.ts'
import { systemClock } from './core/clock.ts'
import { createCall, maxWaitSeconds, type Answer, type Call, type WantedVersion } from './core/smoke-call.ts'
import { findIncompleteCredentials, originRule, type SmokeExitCode } from './core/smoke-input.ts'

const usage =
  'Usage: CLIENT_ID=… CLIENT_SECRET=… SHORT_NAME=… npm run -s smoke -- --url https://catalog.example.com [--version WORKER=ID]\n' +
  'With --version, every answer of the API must come from that version.\n'
process.exitCode = await smoke(process.argv.slice(2))

async function smoke(args: string[]): Promise<SmokeExitCode> {
  const target = readTarget(args)
  if (target === undefined) {
    process.stderr.write(`${usage}${originRule}\n`)
    return 2
  }
  const { CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env
  const incomplete = findIncompleteCredentials(process.env)
  if (incomplete !== undefined) {
    process.stderr.write(`${incomplete}\n`)
    return 2
  }

  const { api, version } = target
  let isReached = false
  const send: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    isReached = true
    return response
  }
  const call = createCall(send, version, systemClock)
  if (version !== undefined) {
    process.stdout.write(
      `      Waits up to ${maxWaitSeconds} s until version ${version.id} sends every answer of the API.\n`,
    )
  }
  let [passed, failed] = [0, 0]
  const check = async (name: string, work: () => Promise<void>) => {
    const startMs = performance.now()
    const problem = await work().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? describe(error) : String(error)),
    )
    if (problem === undefined) passed++
    else failed++
    const time = `${Math.round(performance.now() - startMs)} ms`
    process.stdout.write(
      `${problem === undefined ? 'ok  ' : 'FAIL'}  ${name} (${time})${problem ? `: ${problem}` : ''}\n`,
    )
  }

  await check('a token request without credentials returns 400', async () => {
    expectRefusal(await call(`${api}/auth`, { method: 'POST' }), 400, 'invalid_request')
  })
  if (!isReached) return 3
  await checkRefusals(api, call, check)
  await checkSite(api, call, check)
  if (CLIENT_ID && CLIENT_SECRET && SHORT_NAME) {
    const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`
    await checkPartner(api, authorization, SHORT_NAME, call, check)
  } else process.stdout.write('      No token was requested: CLIENT_ID, CLIENT_SECRET and SHORT_NAME are not set.\n')
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

type Check = (name: string, work: () => Promise<void>) => Promise<void>

async function checkRefusals(api: string, call: Call, check: Check): Promise<void> {
  await check('an unknown client returns 401', async () => {
    const headers = { Authorization: `Basic ${Buffer.from('unknown:unknown').toString('base64')}` }
    expectRefusal(await call(`${api}/auth`, { method: 'POST', headers }), 401, 'invalid_client')
  })
  await check('a list without a token returns 401', async () => {
    expectRefusal(await call(`${api}/any/plans`), 401, 'missing_token')
  })
  await check('a forged token returns 401', async () => {
    expectRefusal(await call(`${api}/any/plans`, { headers: { Authorization: 'Bearer a.b.c' } }), 401, 'invalid_token')
  })
  await check('Python’s urllib reaches the service', async () => {
    const headers = { 'User-Agent': 'Python-urllib/3.13' }
    expectRefusal(await call(`${api}/any/plans`, { headers }), 401, 'missing_token')
  })
  await check('an unknown path returns 404', async () => {
    expectRefusal(await call(`${api}/nothing/here`), 404, 'not_found')
  })
}

async function checkSite(api: string, call: Call, check: Check): Promise<void> {
  await check('the site for partners’ developers is served with its Content-Security-Policy', async () => {
    const { status, headers } = await call(new URL('/', api).href)
    expectEqual('status', status, 200)
    expectEqual('Content-Type', headers.get('Content-Type'), 'text/html; charset=utf-8')
    expectEqual('the first policy', headers.get('Content-Security-Policy')?.split(';')[0], "default-src 'none'")
  })
}

async function checkPartner(
  api: string,
  authorization: string,
  shortName: string,
  call: Call,
  check: Check,
): Promise<void> {
  let headers = {}
  let list: Answer | undefined
  const plansUrl = `${api}/${shortName}/plans`

  await check('the credentials return a token', async () => {
    const { status, json } = await call(`${api}/auth`, { method: 'POST', headers: { Authorization: authorization } })
    expectEqual('status', status, 200)
    expectEqual('token_type', json?.['token_type'], 'Bearer')
    expectEqual('the type of expires_in', typeof json?.['expires_in'], 'number')
    headers = { Authorization: `Bearer ${String(json?.['access_token'])}` }
  })
  await check('the token lists the plans', async () => {
    list = await call(plansUrl, { headers })
    expectEqual('status', list.status, 200)
    const data = isJsonObject(list.json?.['data']) ? list.json['data'] : {}
    const plans = Array.isArray(data['plans']) ? data['plans'] : undefined
    expectEqual('data.total', data['total'], plans?.length ?? 'the number of plans')
    if (plans?.length === 0) throw new Error('the list is empty: does the partner’s country have viewable plans?')
  })
  await check('the same list again returns 304', async () => {
    const again = await call(plansUrl, { headers: { ...headers, 'If-None-Match': list?.headers.get('ETag') ?? '' } })
    expectEqual('status', again.status, 304)
  })
  await check('a filter that matches nothing returns an empty list', async () => {
    const { status, json } = await call(`${plansUrl}?fundType=smoke-test`, { headers })
    expectEqual('status', status, 200)
    expectEqual('data', JSON.stringify(json?.['data']), '{"total":0,"plans":[]}')
  })
  await check('an unreadable filter returns 400', async () => {
    expectRefusal(await call(`${plansUrl}?categoryId=x`, { headers }), 400, 'invalid_request')
  })
  await check('the list of another partner returns 403', async () => {
    expectRefusal(await call(`${api}/${shortName}-other/plans`, { headers }), 403, 'forbidden')
  })
}

function readTarget(args: string[]): { api: string; version: WantedVersion | undefined } | undefined {
  try {
    const options = { url: { type: 'string' }, version: { type: 'string' } } as const
    const { url = '', version } = parseArgs({ args, options }).values
    const [, worker, id] = /^([\w-]+)=([\w-]+)$/.exec(version ?? '') ?? []
    const origin = readOrigin(url)
    if (origin === undefined || (version !== undefined && !(worker && id))) return undefined
    return { api: `${origin}/api/v3/partners`, version: worker && id ? { worker, id } : undefined }
  } catch {
    return undefined
  }
}

/** Checks the status and error; the request ID must equal the header. */
function expectRefusal({ status, headers, json }: Answer, expectedStatus: number, expectedError: string): void {
  expectEqual('status', status, expectedStatus)
  expectEqual('error', json?.['error'], expectedError)
  expectEqual('requestId', json?.['requestId'], headers.get('X-Request-Id') ?? 'the value of X-Request-Id')
}

/** Shows at most 40 characters: a response may contain a token. */
function expectEqual(name: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${name} should be ${String(expected)}; it is ${String(found).slice(0, 40)}`)
}

function describe(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
