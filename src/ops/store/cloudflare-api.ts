// Calls Cloudflare's HTTP API with CLOUDFLARE_API_TOKEN, and the account of wrangler.toml or of CLOUDFLARE_ACCOUNT_ID.
import { abbreviate } from '../../abbreviate.ts'
import { isJsonObject, parseJson, readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { classifyAnswer, CloudflareError, throwAsUserError } from './failure.ts'
import { retry } from './retry.ts'
import type { Target } from '../shared/target.ts'
import { describeNetworkHint } from './system-error.ts'
import { readWranglerConfig } from './wrangler-toml.ts'

/** The longest wait for an answer of Cloudflare. It is longer than the 30 s that D1 may need for a batch of statements. */
const deadlineMs = 60_000

export type CloudflareCall = ReturnType<typeof openApi>['call']
export type ListPages = ReturnType<typeof openApi>['listPages']

/** Cloudflare's error code for a text that does not look like an API token, such as an API key. */
const malformedTokenCode = 6003

/** Names two causes, because Cloudflare's error is the same for a missing permission and for a token of another account. */
export const tokenAdvice =
  'Check that the token has the permissions of its role ("Tokens" in src/worker/DEPLOY.md), and that CLOUDFLARE_ACCOUNT_ID is its account.'

/** @throws UserError for a wrong wrangler.toml, or with each environment variable that is missing or malformed, without its value. */
export async function openAccount({ env }: Target) {
  const wrangler = await readWranglerConfig(env)
  const accountId = wrangler.account_id ?? process.env['CLOUDFLARE_ACCOUNT_ID'] ?? ''
  const token = process.env['CLOUDFLARE_API_TOKEN'] ?? ''
  const problems: string[] = []
  if (!/^[0-9a-f]{32}$/.test(accountId)) {
    problems.push('Set CLOUDFLARE_ACCOUNT_ID to the ID of the account, 32 hexadecimal digits.')
  }
  if (token === '') {
    problems.push('Set CLOUDFLARE_API_TOKEN to a token: see "Tokens" in src/worker/DEPLOY.md.')
  } else if (!/^[\w-]+$/.test(token)) {
    problems.push(
      'CLOUDFLARE_API_TOKEN has a character that no token has, such as a space, a quote or a line end: set it again.',
    )
  }
  if (problems.length > 0) throw new UserError(problems)
  const base = process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4'
  return { wrangler, ...openApi(`${base}/accounts/${accountId}`, token) }
}

/**
 * Queries the dataset of an environment, in which the Worker writes a data point for each request. Fails before the first data point.
 * @param writeQuery receives the name of the dataset, and returns the query in SQL.
 */
export type QueryUsage = (writeQuery: (dataset: string) => string) => Promise<Record<string, unknown>[]>

/** @throws UserError for a local target: the data points of a local Worker are stored nowhere. */
export function refuseLocalTarget({ remote }: Target): void {
  if (!remote) throw new UserError('Requests are not counted locally: add --remote --env NAME.')
}

/** @throws UserError for a local target, when wrangler.toml names no dataset, and as `openAccount`. The returned function throws a UserError when Cloudflare fails. */
export async function openUsageDataset(target: Target): Promise<QueryUsage> {
  refuseLocalTarget(target)
  const { wrangler, queryAnalytics } = await openAccount(target)
  const dataset = wrangler.analytics_engine_datasets.find(({ binding }) => binding === 'USAGE')?.dataset
  if (dataset === undefined) {
    throw new UserError(`wrangler.toml has no dataset of USAGE in [env.${target.env}]. Add it there.`)
  }
  return (writeQuery) => queryAnalytics(`${writeQuery(dataset)} FORMAT JSON`).catch(throwAsUserError)
}

/**
 * Returns functions that call Cloudflare's API, and repeat a call that fails (retry.ts). They throw a CloudflareError. Their `path` comes
 * after the URL of the account, such as `/d1/database/…`.
 */
function openApi(accountUrl: string, token: string) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  // The body of a request is JSON, or for Analytics Engine SQL. The answer is JSON.
  const sendRequest = (method: string, path: string, body?: string) =>
    retry(() => fetchJson(`${accountUrl}${path}`, { method, headers, ...(body !== undefined && { body }) }))
  return {
    /** @returns Cloudflare's time in Unix milliseconds, rounded up by at most a second. */
    askServerTimeMs: async (): Promise<number> => {
      // The path does not matter: every answer has the header `Date`, in whole seconds.
      const answer = await retry(() => fetchOnce(`${accountUrl}/workers/subdomain`, { headers }))
      return Date.parse(answer.headers.get('Date') ?? '') + 1000
    },
    /** Sends a request with a JSON body. @returns the `result` of the answer. */
    call: async (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> =>
      (await sendRequest(method, path, body === undefined ? undefined : JSON.stringify(body)))['result'],
    /** Reads all pages of a list. @param path ends with a query such as `?prefix=`. @returns the items of all pages. */
    listPages: async (path: string): Promise<unknown[]> => {
      const items: unknown[] = []
      let cursor: unknown = ''
      do {
        const page = cursor === '' ? path : `${path}&cursor=${encodeURIComponent(String(cursor))}`
        const { result, result_info: info } = await sendRequest('GET', page)
        if (Array.isArray(result)) items.push(...(result as unknown[]))
        cursor = readPath(info, 'cursor')
      } while (typeof cursor === 'string' && cursor !== '')
      return items
    },
    /** Runs SQL of Workers Analytics Engine. @returns the rows. */
    queryAnalytics: async (sql: string): Promise<Record<string, unknown>[]> => {
      const { data } = await sendRequest('POST', '/analytics_engine/sql', sql)
      return Array.isArray(data) ? data.filter((row) => isJsonObject(row)) : []
    },
  }
}

/** Sends a request once. Follows no redirect, which would send the token to another host. @throws CloudflareError when no answer comes. */
function fetchOnce(url: string, request: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(deadlineMs)
  return fetch(url, { ...request, redirect: 'manual', signal }).catch((error: unknown) => {
    const reason = `${describeFetchError(error)}.${describeNetworkHint(error)}`
    throw new CloudflareError(`Can't reach ${new URL(url).host}: ${reason}`, { kind: 'unknown' })
  })
}

/** Sends a request once. @returns the JSON of a success. @throws CloudflareError for any other answer, or without an answer. */
async function fetchJson(url: string, request: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetchOnce(url, request)
  const text = await response.text().catch(() => '')
  const json = parseJson(text)
  const answer = isJsonObject(json) ? json : {}
  // Answers of Analytics Engine have `data` and no `success`.
  if (response.ok && (answer['success'] === true || Array.isArray(answer['data']))) return answer
  throw makeAnswerError(response, answer, text)
}

/** Makes the error for an answer that is no success. For a refused token, a 404, or an answer of a proxy, the message says what to check. @param answer the body as JSON; empty when it is no JSON object. @param text the body. */
function makeAnswerError(response: Response, answer: Record<string, unknown>, text: string): CloudflareError {
  const { status, ok, headers } = response
  const firstCause = readPath(answer, 'errors', 0, 'error_chain', 0)
  const errors = [answer['errors'], firstCause].flat().filter(isJsonObject)
  const codes = errors.map(({ code }) => code)
  // The body of a success was cut off: the call may have had its effect.
  const isCutOff = ok && answer['success'] !== false

  const redirectUrl = status >= 300 && status < 400 ? headers.get('Location') : null
  // With a status from 500, Cloudflare itself probably failed, and the call is repeated.
  const isPageOfProxy = status < 500 && text.trimStart().startsWith('<')
  if (redirectUrl || isPageOfProxy) {
    const unexpectedAnswer = redirectUrl ? `a redirect to ${abbreviate(redirectUrl)}` : 'a web page'
    const advice = 'check your proxy or firewall, and CLOUDFLARE_API_BASE_URL'
    const message = `${new URL(response.url).host} answered ${status} with ${unexpectedAnswer}, not as Cloudflare's API does: ${advice}.`
    return new CloudflareError(message, { kind: isCutOff ? 'unknown' : 'refused' })
  }

  const messages = errors.map(({ message }) => message).join('; ')
  const reason = isCutOff ? 'its answer is not complete' : messages.replace(/\.$/, '') || abbreviate(text)
  const isMalformedToken = codes.includes(malformedTokenCode)
  if (status === 401 || status === 403 || isMalformedToken) {
    const keyAdvice = 'Check that CLOUDFLARE_API_TOKEN is a whole API token, and no API key.'
    const advice = isMalformedToken ? keyAdvice : tokenAdvice
    return new CloudflareError(`Cloudflare refuses the token (${status}): ${reason}. ${advice}`, { codes })
  }

  const retryAfter = headers.get('Retry-After') ?? ''
  const retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
  const waitSentence = retryAfterSeconds === undefined ? '' : ` Cloudflare asks to wait ${retryAfterSeconds} s.`
  const advice = status === 404 ? ' Check CLOUDFLARE_ACCOUNT_ID, and the name and IDs in wrangler.toml.' : ''
  return new CloudflareError(`Cloudflare answered ${status}: ${reason}.${waitSentence}${advice}`, {
    kind: isCutOff ? 'unknown' : classifyAnswer(status, codes, reason),
    retryAfterSeconds,
    codes,
  })
}

/** Names only the code of a network error, such as ECONNREFUSED: other details of the error may quote the header with the token. */
function describeFetchError(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const code = readPath(error, 'cause', 'code')
  return typeof code === 'string' ? code : 'the request failed'
}
