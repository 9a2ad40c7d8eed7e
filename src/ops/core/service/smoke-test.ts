// Runs the smoke test, which calls a running service as a partner does.
import { encodeBase64 } from '../../../crypto/base64.ts'
import { readPath } from '../../../json.ts'
import { describeNetworkHint } from '../../store/system-error.ts'
import type { Clock } from '../../shared/clock.ts'
import { createSmokeCall, maxWaitSeconds, type SmokeResponse, type WantedVersion } from './smoke-call.ts'

export interface SmokeResult {
  /** `unreachable`: the first request got no answer, and the others were not sent. */
  outcome: 'passed' | 'failed' | 'unreachable'
  /** Each check that failed, and why. */
  failures: string[]
  passed: number
}

export interface SmokeTarget {
  /** Such as `https://catalog.example.com`. */
  origin: string
  /** The test repeats each request to the API until this version answers it. */
  version?: WantedVersion | undefined
  /** Environment variables. Without the credentials of a partner in `credentialNames`, only refusals and the site are checked. */
  variables: Readonly<Record<string, string | undefined>>
}

const credentialNames = ['CLIENT_ID', 'CLIENT_SECRET', 'SHORT_NAME']

/** @returns a sentence if some of `credentialNames` are set and others are not; otherwise undefined. */
export function describeIncompleteCredentials(variables: SmokeTarget['variables']): string | undefined {
  const missingNames = credentialNames.filter((name) => !variables[name])
  if (missingNames.length === 0 || missingNames.length === credentialNames.length) return undefined
  const presentNames = credentialNames.filter((name) => variables[name])
  return `The smoke test lacks ${missingNames.join(' and ')}: set all of ${credentialNames.join(', ')}, or unset ${presentNames.join(' and ')}.`
}

const api = '/api/v3/partners'
const auth = `${api}/auth`
const plansOfAnybody = `${api}/any/plans`

/** Requests that the service must refuse. The first one also shows whether the address answers. */
const refusals: [name: string, path: string, headers: Record<string, string>, status: number, error: string][] = [
  ['a token request without credentials returns 400', auth, {}, 400, 'invalid_request'],
  ['an unknown client returns 401', auth, { Authorization: formatBasic('unknown', 'unknown') }, 401, 'invalid_client'],
  ['a list without a token returns 401', plansOfAnybody, {}, 401, 'missing_token'],
  ['a forged token returns 401', plansOfAnybody, { Authorization: 'Bearer a.b.c' }, 401, 'invalid_token'],
  ['an unknown path returns 404', `${api}/nothing/here`, {}, 404, 'not_found'],
]

/** Sends a request to a path or a URL, and reports if the answer is right. Never throws; `verify` throws if the answer is wrong. */
type SmokeCheck = (
  name: string,
  path: string,
  headers: Record<string, string>,
  verify: (answer: SmokeResponse) => void,
) => Promise<void>

/** Stops after the first request if it gets no answer. @param report prints a line. */
export async function runSmokeTest(
  { origin, version, variables }: SmokeTarget,
  clock: Clock,
  report: (line: string) => void,
): Promise<SmokeResult> {
  let isReached = false
  const send: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    isReached = true
    return response
  }
  const call = createSmokeCall(send, version, clock)
  if (version !== undefined) {
    report(`      Waits up to ${maxWaitSeconds} s until version ${version.id} sends every answer of the API.`)
  }
  let passed = 0
  const failures: string[] = []
  const check: SmokeCheck = async (name, path, headers, verify) => {
    const startMs = performance.now()
    const url = new URL(path, origin)
    const problem = await call(url.href, { method: url.pathname === auth ? 'POST' : 'GET', headers })
      .then(verify)
      .catch((error: unknown) => (error instanceof Error ? describeError(error) : String(error)))
    const nameWithTime = `${name} (${Math.round(performance.now() - startMs)} ms)`
    if (problem === undefined) {
      passed++
      report(`ok    ${nameWithTime}`)
    } else {
      failures.push(`${nameWithTime}: ${problem}`)
      report(`FAIL  ${nameWithTime}: ${problem}`)
    }
  }

  for (const [name, path, headers, status, error] of refusals) {
    await check(name, path, headers, (answer) => expectRefusal(answer, status, error))
    if (!isReached) return { outcome: 'unreachable', failures, passed }
  }
  await checkHttp(new URL(origin), check)
  await check(
    'the site for partners’ developers is served with its Content-Security-Policy',
    '/',
    {},
    ({ status, headers }) => {
      expectEqual('status', status, 200)
      expectEqual('Content-Type', headers.get('Content-Type'), 'text/html; charset=utf-8')
      expectEqual('the first policy', headers.get('Content-Security-Policy')?.split(';')[0], "default-src 'none'")
    },
  )
  const { CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = variables
  if (CLIENT_ID && CLIENT_SECRET && SHORT_NAME)
    await checkPartner(formatBasic(CLIENT_ID, CLIENT_SECRET), SHORT_NAME, check)
  else report('      No token was requested: CLIENT_ID, CLIENT_SECRET and SHORT_NAME are not set.')
  report(`${passed} passed, ${failures.length} failed`)
  return { outcome: failures.length === 0 ? 'passed' : 'failed', failures, passed }
}

/** Checks that the service refuses plain HTTP. Skips a service without HTTPS, and workers.dev, where Cloudflare itself handles plain HTTP. */
async function checkHttp({ protocol, hostname }: URL, check: SmokeCheck): Promise<void> {
  if (protocol !== 'https:' || hostname.endsWith('.workers.dev')) return
  await check('a token request over http:// returns 400', `http://${hostname}${auth}`, {}, (answer) => {
    // A redirect to HTTPS is wrong, too: a client that follows redirects would send its secret in the clear each time.
    if (answer.status >= 300 && answer.status < 400) {
      throw new Error(`it is redirected (${answer.status}): see "A domain of your own" in src/worker/DEPLOY.md`)
    }
    expectRefusal(answer, 400, 'invalid_request')
  })
}

/** Checks that a partner gets a token, and lists its plans. The first two checks set `headers` and `etag` for the later checks. @param authorization the header with the credentials. */
async function checkPartner(authorization: string, shortName: string, check: SmokeCheck): Promise<void> {
  const plansPath = `${api}/${shortName}/plans`
  let headers = {}
  let etag = ''
  await check('the credentials return a token', auth, { Authorization: authorization }, ({ status, json }) => {
    expectEqual('status', status, 200)
    expectEqual('token_type', json?.['token_type'], 'Bearer')
    expectEqual('the type of expires_in', typeof json?.['expires_in'], 'number')
    headers = { Authorization: `Bearer ${String(json?.['access_token'])}` }
  })
  await check('the token lists the plans', plansPath, headers, (list) => {
    etag = list.headers.get('ETag') ?? ''
    expectEqual('status', list.status, 200)
    const plans = readPath(list.json, 'data', 'plans')
    const count = Array.isArray(plans) ? plans.length : 'the number of plans'
    expectEqual('data.total', readPath(list.json, 'data', 'total'), count)
    if (count === 0) throw new Error('the list is empty: does the partner’s country have viewable plans?')
  })
  await check('the same list again returns 304', plansPath, { ...headers, 'If-None-Match': etag }, ({ status }) =>
    expectEqual('status', status, 304),
  )
  const noMatch = `${plansPath}?fundType=smoke-test`
  await check('a filter that matches nothing returns an empty list', noMatch, headers, ({ status, json }) => {
    expectEqual('status', status, 200)
    expectEqual('data', JSON.stringify(json?.['data']), '{"total":0,"plans":[]}')
  })
  await check('an unreadable filter returns 400', `${plansPath}?categoryId=x`, headers, (answer) =>
    expectRefusal(answer, 400, 'invalid_request'),
  )
  await check('the list of another partner returns 403', `${api}/${shortName}-other/plans`, headers, (answer) =>
    expectRefusal(answer, 403, 'forbidden'),
  )
}

function formatBasic(clientId: string, clientSecret: string): string {
  return `Basic ${encodeBase64(new TextEncoder().encode(`${clientId}:${clientSecret}`))}`
}

/** @throws Error unless the answer is this refusal, with the same request ID in its body and its header. */
function expectRefusal({ status, headers, json }: SmokeResponse, expectedStatus: number, expectedError: string): void {
  expectEqual('status', status, expectedStatus)
  expectEqual('error', json?.['error'], expectedError)
  expectEqual('requestId', json?.['requestId'], headers.get('X-Request-Id') ?? 'the value of X-Request-Id')
}

/** @throws Error with at most 40 characters of the value that was found, because a response may contain a token. */
function expectEqual(name: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${name} should be ${String(expected)}; it is ${String(found).slice(0, 40)}`)
}

/** @returns the message of an error, with its cause, and with a hint if the network may be the reason. */
function describeError(error: Error): string {
  const reason = error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
  const hint = describeNetworkHint(error)
  return hint === '' ? reason : `${reason}.${hint}`
}
