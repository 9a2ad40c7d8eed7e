/**
 * Lists the investment plans of your country. One file without dependencies: copy it into your project, or install it as a
 * package. It runs on servers with `fetch`: Node 18 or newer, Deno, Bun, Workers. Don't use it in an app or a web page that
 * you publish, because its users could read your client secret.
 *
 *     const client = new InvestmentPlansClient({ baseUrl, clientId, clientSecret, shortName })
 *     const plans = await client.listPlans({ currency: 'KES' })
 */

import { filterNames, type PlanFilter } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'

/** Later versions are listed on the site of the service, at /changes#history. */
export const clientVersion = '3.0.0'

export interface ClientOptions {
  /** Such as `https://catalog.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Your short name, as in the path of the plan list. */
  shortName: string
  /** Sends a request. Default: the global `fetch`. Your own function can log the status and the request ID of each response. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** The milliseconds after which a request fails if its response is not complete. Default: 15,000. */
  timeoutMs?: number
  /** The milliseconds to wait before the first, the second … retry. Default: 1,000, 5,000 and 30,000. `[]`: no retry. */
  retryDelaysMs?: readonly number[]
  /** The milliseconds after which a call of `listPlans` or `fetchList` ends, with all its retries. Default: 120,000. */
  deadlineMs?: number
}

/** A request failed. The message says why. Quote `requestId` when you contact support. */
export class InvestmentPlansError extends Error {
  override readonly name = 'InvestmentPlansError'
  /**
   * A stable code of the service, such as `invalid_client`; `timeout` or `connection_failed` when there was no complete
   * response; `unknown` when the response did not come from the service.
   */
  readonly code: string
  /** The HTTP status; undefined when there was no complete response. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** Seconds to wait before the next attempt, when the service sent `Retry-After`. */
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, code: string, response?: Response) {
    super(message)
    this.code = code
    this.status = response?.status
    this.requestId = response?.headers.get('X-Request-Id') ?? undefined
    this.retryAfterSeconds = Number(response?.headers.get('Retry-After')) || undefined
  }
}

/** A list as the service sent it. Save it in a file, and pass it to `fetchList` in another process. */
export interface ListWithEtag {
  /** Null if the response had no ETag, for example because a proxy removed it. */
  etag: string | null
  plans: Plan[]
}

interface Token {
  value: string
  renewAtMs: number
  expiresAtMs: number
}

/** Renews a token after this share of its lifetime, so that it doesn't expire while a request is on its way. */
const usableLifetimeShare = 0.9
/** The time to wait after a failed renewal, while the old token is valid. */
const renewalPauseMs = 60_000
/** The client keeps the last list of each set of filters. It forgets all lists when it has this many. */
const maxLists = 100
const foreignResponse = 'The response did not come from the service, or is incomplete.'

export class InvestmentPlansClient {
  readonly #options: ClientOptions
  #token: Token | undefined
  #tokenRequest: Promise<Token> | undefined
  readonly #lists = new Map<string, ListWithEtag>()

  /** @throws TypeError for a wrong address or credential, such as an environment variable that is not set */
  constructor(options: ClientOptions) {
    const { baseUrl, clientId, clientSecret, shortName } = options
    for (const [name, value] of Object.entries({ baseUrl, clientId, clientSecret, shortName })) {
      if (!value) throw new TypeError(`${name} is empty.`)
      if (/\s/.test(value)) throw new TypeError(`${name} contains white space, such as a line break at its end.`)
    }
    // Also refuses a password in the address, which `fetch` would show in its error.
    if (!/^https?:\/\/[^@]+$/.test(baseUrl)) throw new TypeError('baseUrl must be like https://catalog.example.com.')
    this.#options = { ...options, baseUrl: baseUrl.replace(/\/+$/, '') }
  }

  /**
   * Returns the plans that match all filters, in ascending order of `id`; an empty array if none matches. Every call asks
   * the service, which sends the list only if it has changed; otherwise you get the same array again, so don't modify it.
   * @throws InvestmentPlansError when the service refuses the request, or fails until the last retry or the deadline
   * @throws TypeError for an unknown filter, which the service would ignore
   */
  async listPlans(filter: PlanFilter = {}): Promise<Plan[]> {
    return (await this.fetchList(filter)).plans
  }

  /** Lists plans as `listPlans` does, with the list's ETag. @param savedList a list with the same filters, which is returned if it has not changed */
  async fetchList(filter: PlanFilter = {}, savedList?: ListWithEtag): Promise<ListWithEtag> {
    const { retryDelaysMs = [1_000, 5_000, 30_000], deadlineMs = 120_000 } = this.#options
    const query = formatQuery(filter)
    if (savedList) this.#storeList(query, savedList)
    const endMs = performance.now() + deadlineMs
    for (let retries = 0; ; retries++) {
      try {
        return await this.#requestAndRenewToken(query, endMs)
      } catch (error) {
        const delayMs = retryDelaysMs[retries]
        if (delayMs === undefined || !isTransient(error)) throw error
        const pauseMs = Math.max(delayMs, 1000 * (error.retryAfterSeconds ?? 0))
        if (performance.now() + pauseMs >= endMs) throw error
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  async #requestAndRenewToken(query: string, endMs: number): Promise<ListWithEtag> {
    const token = await this.#getToken(endMs)
    try {
      return await this.#requestPlans(query, token, endMs)
    } catch (error) {
      if (!(error instanceof InvestmentPlansError && error.status === 401)) throw error
    }
    // The service ended the token early. Another call may already have replaced the token.
    if (this.#token === token) this.#token = undefined
    return this.#requestPlans(query, await this.#getToken(endMs), endMs)
  }

  async #requestPlans(query: string, token: Token, endMs: number): Promise<ListWithEtag> {
    const list = this.#lists.get(query)
    const headers = { Authorization: `Bearer ${token.value}`, ...(list?.etag && { 'If-None-Match': list.etag }) }
    const path = `/${encodeURIComponent(this.#options.shortName)}/plans${query}`
    const { response, body } = await this.#send(path, { headers }, endMs)
    if (response.status === 304 && list) return list
    const { total, plans } = readObject(readObject(body)['data'])
    if (!isPlanList(plans) || plans.length !== total)
      throw new InvestmentPlansError(foreignResponse, 'unknown', response)
    return this.#storeList(query, { etag: response.headers.get('ETag'), plans })
  }

  #storeList(query: string, list: ListWithEtag): ListWithEtag {
    if (this.#lists.size >= maxLists) this.#lists.clear()
    this.#lists.set(query, list)
    return list
  }

  /** Returns a valid token. Concurrent calls share one token request. If renewal fails temporarily, the old token is used until it expires. */
  async #getToken(endMs: number): Promise<Token> {
    const oldToken = this.#token
    if (oldToken && Date.now() < oldToken.renewAtMs) return oldToken
    this.#tokenRequest ??= this.#requestToken(endMs).finally(() => {
      this.#tokenRequest = undefined
    })
    try {
      this.#token = await this.#tokenRequest
      return this.#token
    } catch (error) {
      if (!oldToken || Date.now() >= oldToken.expiresAtMs || !isTransient(error)) throw error
      oldToken.renewAtMs = Math.min(Date.now() + renewalPauseMs, oldToken.expiresAtMs)
      return oldToken
    }
  }

  async #requestToken(endMs: number): Promise<Token> {
    const { clientId, clientSecret } = this.#options
    const headers = { Authorization: `Basic ${encodeBase64(`${clientId}:${clientSecret}`)}` }
    const requestedAtMs = Date.now()
    const { response, body } = await this.#send('/auth', { method: 'POST', headers }, endMs)
    const { access_token: value, expires_in: seconds } = readObject(body)
    if (typeof value !== 'string' || typeof seconds !== 'number')
      throw new InvestmentPlansError(foreignResponse, 'unknown', response)
    const renewAtMs = requestedAtMs + usableLifetimeShare * 1000 * seconds
    return { value, renewAtMs, expiresAtMs: requestedAtMs + 1000 * seconds }
  }

  /** Returns a response with status 2xx or 304, and its body as JSON, undefined for another body. @throws InvestmentPlansError for any other outcome */
  async #send(path: string, init: { method?: string; headers: Record<string, string> }, endMs: number) {
    const { baseUrl, fetch: send = fetch, timeoutMs = 15_000 } = this.#options
    const remainingMs = Math.max(0, endMs - performance.now())
    const signal = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs, remainingMs)))
    // Workers send no User-Agent of their own, and Cloudflare can refuse a request without one.
    const headers = { 'User-Agent': `investment-plans-typescript/${clientVersion}`, ...init.headers }
    let response: Response
    let text: string
    try {
      // A redirect would send the credentials to another address.
      response = await send(`${baseUrl}/api/v3/partners${path}`, { ...init, headers, redirect: 'manual', signal })
      text = await response.text()
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error
      const code = signal.aborted ? 'timeout' : 'connection_failed'
      throw new InvestmentPlansError(`There was no complete response: ${String(cause)}`, code)
    }
    const body = parseJson(text)
    if (response.ok || response.status === 304) return { response, body }
    const { message, error: code } = readObject(body)
    const defaultMessage = `The service answered with status ${response.status}: ${text.slice(0, 100)}`
    throw new InvestmentPlansError(
      typeof message === 'string' ? message : defaultMessage,
      typeof code === 'string' ? code : 'unknown',
      response,
    )
  }
}

/** Tells if the same request can succeed later: there was no response of the service, or its status is 429 or 5xx. */
function isTransient(error: unknown): error is InvestmentPlansError {
  if (!(error instanceof InvestmentPlansError)) return false
  const { status } = error
  return status === undefined || status < 300 || status === 429 || status >= 500
}

/** Encodes the text as UTF-8, then as Base64 (RFC 7617). */
export function encodeBase64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
}

function formatQuery(filter: PlanFilter): string {
  const names: readonly string[] = filterNames
  const badName = Object.keys(filter).find((name) => !names.includes(name))
  if (badName !== undefined) throw new TypeError(`There is no filter ${badName}. The filters are ${names.join(', ')}.`)
  const givenFilters = Object.entries(filter).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(Object.fromEntries(givenFilters.map(([name, value]) => [name, String(value)])))
  return givenFilters.length > 0 ? `?${query.toString()}` : ''
}

/** Returns an object to read properties from: empty if the value is not an object. */
function readObject(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Checks for an array only: the service promises the fields of a plan. */
function isPlanList(value: unknown): value is Plan[] {
  return Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
