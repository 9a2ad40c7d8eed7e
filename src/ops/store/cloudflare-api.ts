// Calls Cloudflare's HTTP API. The account comes from wrangler.toml or, as the API token does, from the environment variables of
// wrangler.
import { abbreviate } from '../../abbreviate.ts'
import { isJsonObject, parseJson, readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { classifyAnswer, CloudflareError, throwAsUserError } from './failure.ts'
import { retry } from './retry.ts'
import type { Target } from '../shared/target.ts'
import { findNetworkHint } from './system-error.ts'
import { readWranglerConfig } from './wrangler-toml.ts'

/** The longest wait for an answer. D1 runs a batch of statements for at most 30 s. */
const deadlineMs = 60_000

type Api = ReturnType<typeof openApi>
export type CloudflareCall = Api['call']
export type ListPages = Api['listPages']

/** Cloudflare's code for a text that is no API token, such as an API key. */
const malformedHeaders = 6003

/** Cloudflare refuses a token without a permission, and a token of another account, in the same words. */
export const tokenAdvice =
  'Check that the token has the permissions of its role ("Tokens" in src/worker/DEPLOY.md), and that CLOUDFLARE_ACCOUNT_ID is its account.'

/**
 * Opens the account of an environment.
 * @throws UserError that names each environment variable that is missing or malformed, without its value.
 */
export async function openAccount({ env }: Target) {
  const wrangler = await readWranglerConfig(env)
  const accountId = wrangler.account_id ?? process.env['CLOUDFLARE_ACCOUNT_ID'] ?? ''
  const token = process.env['CLOUDFLARE_API_TOKEN'] ?? ''
  const problems = [
    !/^[0-9a-f]{32}$/.test(accountId) && 'Set CLOUDFLARE_ACCOUNT_ID to the ID of the account, 32 hexadecimal digits.',
    token === '' && 'Set CLOUDFLARE_API_TOKEN to a token: see "Tokens" in src/worker/DEPLOY.md.',
    !/^[\w-]*$/.test(token) &&
      'CLOUDFLARE_API_TOKEN has a character that no token has, such as a space, a quote or a line end: set it again.',
  ].filter((problem) => typeof problem === 'string')
  if (problems.length > 0) throw new UserError(problems)
  const base = process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4'
  return { wrangler, ...openApi(`${base}/accounts/${accountId}`, token) }
}

/**
 * Asks for the data points of an environment: the Worker writes one for each request. Their dataset exists from the first one on.
 * @param writeQuery receives the name of the dataset, and returns SQL.
 * @returns the rows.
 */
export type QueryUsage = (writeQuery: (dataset: string) => string) => Promise<Record<string, unknown>[]>

/** @throws UserError for a local target: only requests to a deployed environment are counted. */
export function refuseLocalTarget({ remote }: Target): void {
  if (!remote) throw new UserError('Requests are not counted locally: add --remote --env NAME.')
}

/**
 * @returns a function that throws a UserError when Cloudflare refuses.
 * @throws UserError for a local target, or one without a dataset.
 */
export async function openUsageDataset(target: Target): Promise<QueryUsage> {
  refuseLocalTarget(target)
  const { wrangler, ask } = await openAccount(target)
  const dataset = wrangler.analytics_engine_datasets.find(({ binding }) => binding === 'USAGE')?.dataset
  if (dataset === undefined) {
    throw new UserError(`wrangler.toml has no dataset of USAGE in [env.${target.env}]. Add it there.`)
  }
  return (writeQuery) => ask(`${writeQuery(dataset)} FORMAT JSON`).catch(throwAsUserError)
}

/**
 * Returns functions that repeat a call when it fails. Paths are below the account, such as `/d1/…`.
 * @param account the URL of the account.
 */
function openApi(account: string, token: string) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const send = (method: string, path: string, body?: string) =>
    retry(() => sendOnce(`${account}${path}`, { method, headers, ...(body !== undefined && { body }) }))
  return {
    /** @returns Cloudflare's time in Unix milliseconds, rounded up by at most a second. */
    askServerTimeMs: async (): Promise<number> => {
      // Any request will do: even a refusal has the header `Date`, in whole seconds.
      const answer = await retry(() => reach(`${account}/workers/subdomain`, { headers }))
      return Date.parse(answer.headers.get('Date') ?? '') + 1000
    },
    /** @returns the `result` of the answer. */
    call: async (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> =>
      (await send(method, path, body === undefined ? undefined : JSON.stringify(body)))['result'],
    /** @returns the `result` of every page of a path that has a query and a cursor. */
    listPages: async (path: string): Promise<unknown[]> => {
      const items: unknown[] = []
      let cursor: unknown = ''
      do {
        const page = cursor === '' ? path : `${path}&cursor=${encodeURIComponent(String(cursor))}`
        const { result, result_info: info } = await send('GET', page)
        if (Array.isArray(result)) items.push(...(result as unknown[]))
        cursor = readPath(info, 'cursor')
      } while (typeof cursor === 'string' && cursor !== '')
      return items
    },
    /** Runs SQL on Workers Analytics Engine. @returns the rows. */
    ask: async (sql: string): Promise<Record<string, unknown>[]> => {
      const { data } = await send('POST', '/analytics_engine/sql', sql)
      return Array.isArray(data) ? data.filter((row) => isJsonObject(row)) : []
    },
  }
}

/** Sends a request once. It follows no redirect, which would take the token, or a body with secrets, to another host. */
function reach(url: string, request: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(deadlineMs)
  return fetch(url, { ...request, redirect: 'manual', signal }).catch((error: unknown) => {
    const reason = `${describeFetchError(error)}.${findNetworkHint(error)}`
    throw new CloudflareError(`Can't reach ${new URL(url).host}: ${reason}`, { kind: 'unknown' })
  })
}

/** Sends a request once. @returns the JSON of a success. @throws CloudflareError for any other answer. */
async function sendOnce(url: string, request: RequestInit): Promise<Record<string, unknown>> {
  const response = await reach(url, request)
  const text = await response.text().catch(() => '')
  const json = parseJson(text)
  const answer = isJsonObject(json) ? json : {}
  // Analytics Engine answers rows without an envelope, and refuses a query with plain text.
  if (response.ok && (answer['success'] === true || Array.isArray(answer['data']))) return answer
  throw readRefusal(response, answer, text)
}

/** Finds out what an answer that is no success means, and what the operator should check. @param text the body. */
function readRefusal(response: Response, { success, errors }: Record<string, unknown>, text: string): CloudflareError {
  const { status, ok, headers } = response
  const refusals = [
    ...(Array.isArray(errors) ? (errors as unknown[]) : []),
    readPath(errors, 0, 'error_chain', 0),
  ].filter(isJsonObject)
  const reasons = refusals.map((refusal) => readPath(refusal, 'message'))
  const codes = refusals.map((refusal) => readPath(refusal, 'code'))
  // The answer was lost after its first line: the call may have had its effect.
  const isCutOff = ok && success !== false
  const location = status >= 300 && status < 400 && headers.get('Location')
  if (location || (status < 500 && text.trimStart().startsWith('<'))) {
    const found = location ? `a redirect to ${abbreviate(location)}` : 'a web page'
    const advice = 'check the proxy or firewall between, and CLOUDFLARE_API_BASE_URL'
    const message = `${new URL(response.url).host} answered ${status} with ${found}, not as Cloudflare's API does: ${advice}.`
    return new CloudflareError(message, { kind: isCutOff ? 'unknown' : 'refused' })
  }
  const reason = isCutOff ? 'its answer is not complete' : reasons.join('; ').replace(/\.$/, '') || abbreviate(text)
  if (status === 401 || status === 403 || codes.includes(malformedHeaders)) {
    const advice = codes.includes(malformedHeaders)
      ? 'Check that CLOUDFLARE_API_TOKEN is a whole API token, and no API key.'
      : tokenAdvice
    return new CloudflareError(`Cloudflare refuses the token (${status}): ${reason}. ${advice}`, { codes })
  }
  const retryAfter = headers.get('Retry-After') ?? ''
  const retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined
  const wait = retryAfterSeconds === undefined ? '' : ` It asks to wait ${retryAfterSeconds} s.`
  const missing = status === 404 ? ' Check CLOUDFLARE_ACCOUNT_ID, and the name and IDs in wrangler.toml.' : ''
  return new CloudflareError(`Cloudflare answered ${status}: ${reason}.${wait}${missing}`, {
    kind: isCutOff ? 'unknown' : classifyAnswer(status, codes, reason),
    retryAfterSeconds,
    codes,
  })
}

/** Names only the code of a network error, such as ECONNREFUSED: the other details of fetch may have a header with the token. */
function describeFetchError(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const code = readPath(error, 'cause', 'code')
  return typeof code === 'string' ? code : 'the request failed'
}
