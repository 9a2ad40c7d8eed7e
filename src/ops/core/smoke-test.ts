// The smoke test: calls a running service as a partner does.
import { isJsonObject } from '../../json.ts'
import type { Clock } from './clock.ts'
import { createCall, maxWaitSeconds, type Answer, type Call, type WantedVersion } from './smoke-call.ts'

export type SmokeOutcome = 'passed' | 'failed' | 'unreachable'

export interface SmokeTarget {
  /** Such as `https://catalog.example.com`. */
  origin: string
  /** Every answer of the API must come from this version, and the test waits while it spreads. */
  version?: WantedVersion | undefined
  /** Without the credentials of a partner, only refusals and the site are checked. */
  variables: Readonly<Record<string, string | undefined>>
}

export const originRule = '--url must be an origin such as https://catalog.example.com; http: only for this machine.'

/** The variables with the credentials of the smoke test's partner. */
const credentialNames = ['CLIENT_ID', 'CLIENT_SECRET', 'SHORT_NAME']

/** @returns what to fix when some are set, and not all. */
export function findIncompleteCredentials(variables: SmokeTarget['variables']): string | undefined {
  const missing = credentialNames.filter((name) => !variables[name])
  if (missing.length === 0 || missing.length === credentialNames.length) return undefined
  const present = credentialNames.filter((name) => variables[name])
  return `The smoke test lacks ${missing.join(' and ')}: set all of ${credentialNames.join(', ')}, or unset ${present.join(' and ')}.`
}

/** @param report gets a line for each check. */
export async function runSmokeTest(
  { origin, version, variables }: SmokeTarget,
  clock: Clock,
  report: (line: string) => void,
): Promise<SmokeOutcome> {
  const api = `${origin}/api/v3/partners`
  let isReached = false
  const send: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    isReached = true
    return response
  }
  const call = createCall(send, version, clock)
  if (version !== undefined) {
    report(`      Waits up to ${maxWaitSeconds} s until version ${version.id} sends every answer of the API.`)
  }
  let [passed, failed] = [0, 0]
  const check: Check = async (name, work) => {
    const startMs = performance.now()
    const problem = await work().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? describe(error) : String(error)),
    )
    if (problem === undefined) passed++
    else failed++
    const time = `${Math.round(performance.now() - startMs)} ms`
    report(`${problem === undefined ? 'ok  ' : 'FAIL'}  ${name} (${time})${problem ? `: ${problem}` : ''}`)
  }

  await check('a token request without credentials returns 400', async () => {
    expectRefusal(await call(`${api}/auth`, { method: 'POST' }), 400, 'invalid_request')
  })
  if (!isReached) return 'unreachable'
  await checkRefusals(api, call, check)
  await checkSite(api, call, check)
  const { CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = variables
  if (CLIENT_ID && CLIENT_SECRET && SHORT_NAME) {
    const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`
    await checkPartner(api, authorization, SHORT_NAME, call, check)
  } else report('      No token was requested: CLIENT_ID, CLIENT_SECRET and SHORT_NAME are not set.')
  report(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 'passed' : 'failed'
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
