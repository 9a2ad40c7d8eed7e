// Cloudflare's HTTP API, as an environment of wrangler.toml and the variables that wrangler reads give access to it.
import { isJsonObject } from '../../json.ts'
import type { Target } from './target.ts'
import { UserError } from '../core/user-error.ts'
import { readWranglerConfig } from './wrangler.ts'

/** A batch of statements takes D1 at most 30 s. */
const deadlineMs = 60_000

export interface Page {
  result: unknown
  /** Where the next page begins; undefined after the last. */
  cursor: string | undefined
}

/** Makes a call below the account: `/d1/…`, `/storage/kv/…`. */
export type Call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) => Promise<Page>

/** What Cloudflare says when it refuses, of SQL the database's own message; or why it can't be asked. */
export class CloudflareError extends Error {
  override readonly name = 'CloudflareError'
  /** Whether the call may have had its effect all the same. */
  readonly isUncertain: boolean
  /** Cloudflare's own codes. */
  readonly codes: readonly unknown[]

  constructor(message: string, { isUncertain = false, codes = [] }: { isUncertain?: boolean; codes?: unknown[] } = {}) {
    super(message)
    this.isUncertain = isUncertain
    this.codes = codes
  }
}

/** @throws UserError that names everything that is missing. No value is ever part of it. */
export async function openAccount(target: Target) {
  const wrangler = await readWranglerConfig(target.env)
  const accountId = wrangler.account_id ?? process.env['CLOUDFLARE_ACCOUNT_ID']
  const token = process.env['CLOUDFLARE_API_TOKEN']
  const base = process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4'
  const problems = [
    !accountId && 'CLOUDFLARE_ACCOUNT_ID is not set. It takes the ID of the account, 32 hexadecimal digits.',
    accountId && !/^[0-9a-f]{32}$/.test(accountId) && 'CLOUDFLARE_ACCOUNT_ID has to be 32 hexadecimal digits.',
    !token && 'CLOUDFLARE_API_TOKEN is not set. It takes a token that may edit D1, Workers KV and Workers Scripts.',
    token && !/^[\w-]+$/.test(token) && 'CLOUDFLARE_API_TOKEN holds what no token has: copy it again, on one line.',
    !URL.canParse(base) && 'CLOUDFLARE_API_BASE_URL is no URL.',
  ].filter((problem) => typeof problem === 'string' && problem !== '')
  if (problems.length > 0) throw new UserError(problems.map(String))
  return { wrangler, call: openApi(`${base}/accounts/${accountId}`, `Bearer ${token}`) }
}

function openApi(account: string, authorization: string): Call {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
  return async (method, path, body) => {
    let response: Response
    let answer: unknown
    try {
      const signal = AbortSignal.timeout(deadlineMs)
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      response = await fetch(`${account}${path}`, { method, headers, signal, ...content })
      answer = await response.json().catch(() => undefined)
    } catch (error) {
      throw new CloudflareError(`Can't reach ${new URL(account).host}: ${describeFailure(error)}.`, {
        isUncertain: true,
      })
    }
    const { success, errors, result, result_info } = isJsonObject(answer) ? answer : {}
    if (success === true) {
      const cursor = isJsonObject(result_info) ? result_info['cursor'] : undefined
      return { result, cursor: typeof cursor === 'string' && cursor !== '' ? cursor : undefined }
    }
    const refusals: object[] = Array.isArray(errors) ? errors.map(Object) : []
    const reasons = refusals.map((refusal) => Reflect.get(refusal, 'message'))
    const codes = refusals.map((refusal): unknown => Reflect.get(refusal, 'code'))
    const reason = reasons.length > 0 ? reasons.join('; ') : 'it gave no reason'
    if (response.status === 401 || response.status === 403) {
      const mend = 'Check that CLOUDFLARE_API_TOKEN may edit D1, Workers KV and Workers Scripts of this account.'
      throw new CloudflareError(`Cloudflare refuses the token (${response.status}): ${reason}. ${mend}`)
    }
    throw new CloudflareError(`Cloudflare answered ${response.status}: ${reason}.`, {
      isUncertain: response.status >= 500,
      codes,
    })
  }
}

/** Of the network: what fetch says beside that may hold a header. */
function describeFailure(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return 'the request failed'
  return 'code' in cause ? String(cause.code) : cause.message
}
