// Cloudflare's HTTP API. Account and token come from wrangler.toml and from the variables that wrangler reads.
import { abbreviate } from '../../abbreviate.ts'
import { isJsonObject, parseJson, readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { classifyAnswer, CloudflareError } from './failure.ts'
import { retry } from './retry.ts'
import type { Target } from '../shared/target.ts'
import { readWranglerConfig } from './wrangler-toml.ts'

/** D1 runs a batch of statements for at most 30 s. */
const deadlineMs = 60_000

/** Calls a path below the account, such as `/d1/…`, and returns the `result` of the answer. Repeats what fails. */
export type Call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<unknown>

/** Lists the `result` of every page of a path that has a query and a cursor. */
export type ListPages = (path: string) => Promise<unknown[]>

/** What `doctor` needs: the role `watch` in DEPLOY.md, without the usage. */
export const inspectionPermissions = 'D1 Read, Workers KV Storage Edit and Workers Scripts Read'

/**
 * @param permissions of the token, by their names in Cloudflare's dashboard. By default, those of the role that deploys.
 * @throws UserError that names every missing or malformed variable, and never its value.
 */
export async function openAccount(
  target: Target,
  permissions = 'D1 Edit, Workers KV Storage Edit and Workers Scripts Edit',
) {
  const wrangler = await readWranglerConfig(target.env)
  const accountId = wrangler.account_id || process.env['CLOUDFLARE_ACCOUNT_ID']
  const token = process.env['CLOUDFLARE_API_TOKEN']
  const base = process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4'
  const problems = [
    !accountId && 'CLOUDFLARE_ACCOUNT_ID is not set. Set it to the ID of the account, 32 hexadecimal digits.',
    accountId && !/^[0-9a-f]{32}$/.test(accountId) && 'CLOUDFLARE_ACCOUNT_ID must be 32 hexadecimal digits.',
    !token && `CLOUDFLARE_API_TOKEN is not set. Set it to a token with ${permissions}.`,
    token && !/^[\w-]+$/.test(token) && 'CLOUDFLARE_API_TOKEN has characters that no token has: copy it again.',
    !URL.canParse(base) && 'CLOUDFLARE_API_BASE_URL must be a URL.',
  ].filter((problem) => typeof problem === 'string' && problem !== '')
  if (problems.length > 0) throw new UserError(problems.map(String))
  const access = { account: `${base}/accounts/${accountId}`, authorization: `Bearer ${token}`, permissions }
  return { wrangler, ...openApi(access), ask: openAnalytics(access) }
}

interface Access {
  /** The URL of the account. */
  account: string
  authorization: string
  permissions: string
}

function openApi({ account, authorization, permissions }: Access): { call: Call; listPages: ListPages } {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
  const callOnce = async (method: string, path: string, body: unknown): Promise<Record<string, unknown>> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await send(`${account}${path}`, { method, headers, ...content })
    const answer: unknown = await response.json().catch(() => undefined)
    const envelope = isJsonObject(answer) ? answer : {}
    if (envelope['success'] === true) return envelope
    throw readRefusal(response, envelope, permissions)
  }
  const callEnvelope = (...[method, path, body]: Parameters<Call>) => retry(() => callOnce(method, path, body))

  return {
    call: async (...call) => (await callEnvelope(...call))['result'],
    listPages: async (path) => {
      const items: unknown[] = []
      let cursor: unknown = ''
      do {
        const page = cursor === '' ? path : `${path}&cursor=${encodeURIComponent(String(cursor))}`
        const { result, result_info: info } = await callEnvelope('GET', page)
        if (Array.isArray(result)) items.push(...(result as unknown[]))
        cursor = readPath(info, 'cursor')
      } while (typeof cursor === 'string' && cursor !== '')
      return items
    },
  }
}

function readRefusal(
  response: Response,
  { success, errors }: Record<string, unknown>,
  permissions: string,
): CloudflareError {
  const { status, ok } = response
  const refusals: unknown[] = Array.isArray(errors) ? errors : []
  const reasons = refusals.map((refusal) => readPath(refusal, 'message'))
  const codes = refusals.map((refusal) => readPath(refusal, 'code'))
  // The answer was lost after its first line: the call may have had its effect.
  const isCutOff = ok && success !== false
  const otherwise = status >= 300 && status < 400 ? 'a redirect, which is not followed' : 'it gave no reason'
  const reason = isCutOff ? 'its answer is not complete' : reasons.join('; ').replace(/\.$/, '') || otherwise
  // 6003: the header can't be a token.
  if (status === 401 || status === 403 || codes.includes(6003)) {
    const fix = describeTokenCheck(permissions)
    return new CloudflareError(`Cloudflare refuses the token (${status}): ${reason}. ${fix}`, { codes })
  }
  const retryAfterSeconds = readRetryAfter(response.headers.get('Retry-After'))
  const wait = retryAfterSeconds === undefined ? '' : ` It asks to wait ${retryAfterSeconds} s.`
  const hint = status === 404 ? ' Check that CLOUDFLARE_ACCOUNT_ID is the account of the IDs in wrangler.toml.' : ''
  return new CloudflareError(`Cloudflare answered ${status}: ${reason}.${wait}${hint}`, {
    kind: isCutOff ? 'unknown' : classifyAnswer(status, codes, reason),
    retryAfterSeconds,
    codes,
  })
}

/** Cloudflare also refuses a token with these words when it is of another account. */
export function describeTokenCheck(permissions: string): string {
  return `Check that CLOUDFLARE_API_TOKEN has ${permissions}, and that CLOUDFLARE_ACCOUNT_ID is its account.`
}

/** The forms of RFC 9110, section 10.2.3: seconds, or a date. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000)
  return seconds >= 0 ? Math.abs(seconds) : undefined
}

/** Runs SQL on Workers Analytics Engine, and returns the rows. Its answers have no envelope. */
export type Ask = (sql: string) => Promise<Record<string, unknown>[]>

function openAnalytics({ account, authorization, permissions }: Access): Ask {
  const askOnce: Ask = async (sql) => {
    const request = { method: 'POST', headers: { Authorization: authorization }, body: sql }
    const response = await send(`${account}/analytics_engine/sql`, request)
    if (!response.ok) {
      throw readRefusal(response, readEnvelope(await response.text().catch(() => '')), permissions)
    }
    const rows = readPath(await response.json().catch(() => undefined), 'data')
    if (!Array.isArray(rows) || !rows.every((row) => isJsonObject(row))) {
      throw new CloudflareError('Cloudflare answered a query without rows.')
    }
    return rows
  }
  return (sql) => retry(() => askOnce(sql))
}

/** A refused query is answered with plain text, a refused token as by the rest of the API. */
function readEnvelope(text: string): Record<string, unknown> {
  const answer = parseJson(text)
  return isJsonObject(answer) ? answer : { errors: [{ message: abbreviate(text.trim()) }] }
}

/** Follows no redirect: it would take the token, or a body with secrets, elsewhere. */
async function send(url: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(deadlineMs) })
  } catch (error) {
    throw new CloudflareError(`Can't reach ${new URL(url).host}: ${describeFetchError(error)}.`, { kind: 'unknown' })
  }
}

/** Names only the network error: fetch's other details may hold a header. */
function describeFetchError(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return 'the request failed'
  return 'code' in cause ? String(cause.code) : cause.message
}
