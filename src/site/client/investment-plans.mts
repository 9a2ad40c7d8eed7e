/**
 * Lists the investment plans of your country, and says what changed. One file without dependencies: copy it into your
 * project. It runs on servers with `fetch`: Node 18 or newer, Deno, Bun, Workers. Don't use it in an app or a web page that
 * you publish, because its users could read your client secret.
 *
 *     const client = new InvestmentPlansClient({ baseUrl, clientId, clientSecret, shortName })
 *     const plans = await client.listPlans({ currency: 'KES' })
 */

/** This file last changed in this version. The history at /changes on the site of the service says what is new since your copy. */
export const clientVersion = '3.0.0'

export interface ClientOptions {
  /** Such as `https://catalog.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Your short name, as in the path of the plan list. */
  shortName: string
  /** Default: the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Timeout of one request in milliseconds. Default: 15,000. */
  timeoutMs?: number
  /** The pauses in milliseconds before the first, second … retry of a call. Default: 1,000, 5,000 and 30,000. None: `[]`. */
  retryDelaysMs?: readonly number[]
  /** The time in milliseconds after which a call ends, with all its requests and pauses. Default: 120,000. */
  deadlineMs?: number
  /** Keeps the token and the lists with their ETags between runs. Without it, each run needs a new token and the whole list. */
  store?: StateStore
}

/** Where the client keeps its state, such as a file with mode 0600: the state contains the token. */
export interface StateStore {
  /** Returns what `write` got last, and undefined at the first run. */
  read: () => Promise<string | undefined>
  write: (state: string) => Promise<void>
}

// BEGIN GENERATED from the filters and the plan schema of the service

/** Filters combine with AND. */
export interface PlanFilter {
  /** Only plans whose `category.id` is this number. */
  categoryId?: number
  /** Only plans whose `fundType` is exactly this text. */
  fundType?: string
  /** Only plans whose base currency, `currency`, is this code, in upper or lower case. */
  currency?: string
}

const filterNames: readonly string[] = ['categoryId', 'fundType', 'currency']

export interface Plan {
  /** Internal plan ID. */
  id: number
  /** Stable machine-readable identifier of the plan. */
  identifier: string
  /** Formal plan name. */
  name: string
  /** Short friendly display name. Prefer it in your user interface. */
  coolName: string
  /** Longer description. */
  about: string
  /** Short marketing tagline. */
  hint: string
  /** URL of the artwork of the plan. */
  imageUrl: string
  /** URL of the thumbnail of the artwork. */
  thumbnail: string
  /** Sector that the fund invests in. */
  sector: string
  /** Classification of the fund, such as MONEY_MARKET. */
  fundType: string
  /** How returns are generated, such as VARIABLE. */
  profitType: string
  /** Text that explains profitType. */
  profitTypeDescription: string
  /** Annualized return over 1 year in percent per year; null if unknown. */
  performance1: number | null
  /** Annualized return over 3 years in percent per year; null if unknown. */
  performance3: number | null
  /** Annualized return over 5 years in percent per year; null if unknown. */
  performance5: number | null
  /** Annualized return over 10 years in percent per year; null if unknown. */
  performance10: number | null
  /** As-of date of the performance figures, as YYYY-MM-DD. */
  performanceDate: string
  /** Base currency of the plan, ISO 4217. */
  currency: string
  /** Minimum initial investment in major units, keyed by ISO 4217 currency code. */
  minInvestableAmounts: Record<string, number>
  /** Minimum top-up in major units, keyed by ISO 4217 currency code. */
  minTopUpAmounts: Record<string, number>
  /** Investment term. */
  tenor: string
  /** Lock-in period in days; 0 means none. */
  lockInPeriod: number
  /** Whether partial withdrawals are allowed. */
  partialWithdrawable: boolean
  /** Link to an informational document. */
  factSheet: string
  /** Link to a legal document. */
  prospectus: string
  /** Whether the plan currently accepts new investment. */
  isInvestable: boolean
  /** Why isInvestable is false; null if it is true. */
  nonInvestableNote: string | null
  /** Plan category. */
  category: { id: number; name: string; displayName: string; tagLine: string } | null
  /** Plan type. */
  planType: { id: number; name: string } | null
  /** Risk rating. */
  productRiskLevel: { id: number; name: string } | null
  /** Company that manages the fund. */
  fundManager: { id: number; name: string } | null
  /** Operating currency of the fund. */
  fundCurrency: { currency: string } | null
}

// END GENERATED

/** Amounts in major units, keyed by ISO 4217 currency code. */
export type Amounts = Plan['minInvestableAmounts']

export interface PlanList {
  plans: Plan[]
  /** The service said that this is the list of the request before. Your copy may differ from it: `comparePlans` says so. */
  isUnchanged: boolean
}

/** The difference between your copy and the list. Plans are matched by `identifier`. */
export interface PlanChanges {
  /** The whole new list. */
  plans: Plan[]
  added: Plan[]
  /** No longer to be offered. Customers who hold such a plan keep it. */
  removed: Plan[]
  changed: { before: Plan; after: Plan }[]
  /** The removed plans, as a share of the list before: 1 if none of them is left. Get a person's approval before you remove many plans. */
  removedShare: number
}

export interface WatchOptions {
  /** The plans that you have. Default: none, so that every plan is added at first. */
  copy?: readonly Plan[]
  filter?: PlanFilter
  /** Time between two requests in milliseconds. Each pause is up to a fifth longer, so that clients spread. Default: 60,000. */
  intervalMs?: number
  /** Ends the watch, after the request in flight. */
  signal?: AbortSignal
  /** Gets each failure that the watch survives. Default: ignores it. */
  onError?: (error: unknown) => void
}

/** A request failed. The message says why and how to fix it. Quote `requestId` when you contact support. */
export class InvestmentPlansError extends Error {
  override readonly name = 'InvestmentPlansError'
  /** The HTTP status; undefined when there was no complete response. */
  readonly status: number | undefined
  /**
   * A stable code of the service, such as `invalid_client`; `timeout` or `connection_failed` when there was no complete
   * response; `unknown` when the response did not come from the service.
   */
  readonly code: string
  readonly requestId: string | undefined
  /** Seconds to wait before the next attempt, when the service sent `Retry-After`. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    message: string,
    details: { code: string; status?: number; requestId?: string | undefined; retryAfterSeconds?: number | undefined },
  ) {
    super(message)
    this.code = details.code
    this.status = details.status
    this.requestId = details.requestId
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** Renews a token after this share of its lifetime, so that it doesn't expire while a request is on its way. */
const usableLifetimeShare = 0.9
/** The shortest pause after a token that couldn't be renewed, while the old one is valid. */
const renewalPauseMs = 30_000
/** The client keeps at most this many lists with their ETags, one per set of filters. */
const maxLists = 100
/** The longest pause of `watchPlans` after failures. */
const maxBackOffMs = 15 * 60_000
/** The longest time limit, and the longest pause of `watchPlans` that `Retry-After` can ask for. A timer takes at most 24.8 days. */
const maxPauseMs = 24 * 3600_000

export class InvestmentPlansClient {
  readonly #options: ClientOptions
  #token: Token | undefined
  #tokenRequest: Promise<string> | undefined
  readonly #lists = new Map<string, { etag: string; plans: Plan[] }>()
  #loading: Promise<void> | undefined
  #saving: Promise<void> = Promise.resolve()

  /**
   * @throws TypeError when the address or a credential is empty, such as an environment variable that is not set, or when
   * the address contains a password
   */
  constructor(options: ClientOptions) {
    const { baseUrl, clientId, clientSecret, shortName } = options
    for (const [name, value] of Object.entries({ baseUrl, clientId, clientSecret, shortName }))
      if (!value) throw new TypeError(`${name} is empty.`)
    // `fetch` would refuse it, with the password in its error.
    if (baseUrl.includes('@')) throw new TypeError('baseUrl must not contain @, such as after a password.')
    if (!/^https?:\/\//.test(baseUrl)) throw new TypeError(`baseUrl must start with https://, not ${baseUrl}`)
    this.#options = { ...options, baseUrl: baseUrl.replace(/\/$/, '') }
  }

  /**
   * Returns the plans that match all filters, in ascending order of `id`; an empty array if none matches. Every call asks
   * the service, which sends the list only if it has changed; otherwise you get the same array again, so don't modify it.
   * Retries when there is no response, after 429 and after 5xx, while the deadline allows it.
   * @throws InvestmentPlansError when the service refuses the request or can't be reached
   * @throws TypeError for an unknown filter, which the service would ignore
   */
  async listPlans(filter: PlanFilter = {}): Promise<Plan[]> {
    const { plans } = await this.fetchPlans(filter)
    return plans
  }

  /** Like `listPlans`, and says whether the list is the one of the request before. */
  async fetchPlans(filter: PlanFilter = {}): Promise<PlanList> {
    return this.#fetchPlans(formatQuery(filter))
  }

  /**
   * Polls, and yields each difference: at first the one to your copy, then the one to the list of the loop before.
   * After a restart, pass your copy again. Waits longer after failures, as long as `Retry-After` says.
   * @throws InvestmentPlansError when a further attempt would be refused, too, such as after wrong credentials
   * @throws TypeError for an unknown filter, which the service would ignore
   */
  async *watchPlans({
    copy = [],
    filter = {},
    intervalMs = 60_000,
    signal,
    onError,
  }: WatchOptions = {}): AsyncGenerator<PlanChanges> {
    const query = formatQuery(filter)
    let known = copy
    let failures = 0
    for (;;) {
      if (signal?.aborted) return
      let waitMs = intervalMs
      try {
        const { plans } = await this.#fetchPlans(query, signal)
        failures = 0
        const changes = comparePlans(known, plans)
        if (changes.added.length + changes.removed.length + changes.changed.length > 0) {
          yield changes
          known = plans
        }
      } catch (error) {
        if (isPermanent(error)) throw error
        onError?.(error)
        failures++
        const retryAfterMs = error instanceof InvestmentPlansError ? 1000 * (error.retryAfterSeconds ?? 0) : 0
        waitMs = Math.max(
          Math.min(intervalMs * 2 ** failures, maxBackOffMs),
          Math.min(retryAfterMs, maxPauseMs),
          intervalMs,
        )
      }
      await sleep(waitMs * (1 + 0.2 * Math.random()), signal)
    }
  }

  /** @param signal ends the pauses, not the request in flight */
  async #fetchPlans(query: string, signal?: AbortSignal): Promise<PlanList> {
    const { retryDelaysMs = [1_000, 5_000, 30_000], deadlineMs = 120_000 } = this.#options
    const endMs = performance.now() + deadlineMs
    this.#loading ??= this.#load(endMs)
    await this.#loading.catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    for (let retries = 0; ; retries++) {
      try {
        const list = await this.#attempt(query, endMs)
        await this.#saved()
        return list
      } catch (error) {
        const delayMs = retryDelaysMs[retries]
        if (delayMs === undefined || !isTransient(error)) throw error
        const pauseMs = Math.max(delayMs, 1000 * (error.retryAfterSeconds ?? 0))
        if (performance.now() + pauseMs >= endMs) throw error
        await sleep(pauseMs, signal)
        if (signal?.aborted) throw error
      }
    }
  }

  async #attempt(query: string, endMs: number): Promise<PlanList> {
    const token = await this.#getToken(endMs)
    try {
      return await this.#requestPlans(query, token, endMs)
    } catch (error) {
      if (!(error instanceof InvestmentPlansError && error.status === 401)) throw error
    }
    // The token may have expired, or its signing key may be gone. Try once with a new token.
    if (this.#token?.value === token) this.#token = undefined
    return this.#requestPlans(query, await this.#getToken(endMs), endMs)
  }

  async #requestPlans(query: string, token: string, endMs: number): Promise<PlanList> {
    const known = this.#lists.get(query)
    const headers = { Authorization: `Bearer ${token}`, ...(known && { 'If-None-Match': known.etag }) }
    const path = `/${encodeURIComponent(this.#options.shortName)}/plans${query}`
    const { response, body } = await this.#send(path, { headers }, endMs)
    if (response.status === 304 && known) return { plans: known.plans, isUnchanged: true }
    const { data }: { data?: { plans?: Plan[] } } = Object(body)
    const plans = data?.plans
    if (!Array.isArray(plans)) throw createForeignError(response)
    const etag = response.headers.get('ETag')
    this.#lists.delete(query)
    if (etag !== null) this.#lists.set(query, { etag, plans })
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > maxLists && oldest !== undefined) this.#lists.delete(oldest)
    this.#save(endMs)
    return { plans, isUnchanged: known !== undefined && known.etag === etag }
  }

  /** Concurrent calls share one token request. A token that can't be renewed just now is used until it expires. */
  async #getToken(endMs: number): Promise<string> {
    const known = this.#token
    if (known && Date.now() < known.renewAtMs) return known.value
    this.#tokenRequest ??= this.#requestToken(endMs).finally(() => {
      this.#tokenRequest = undefined
    })
    try {
      return await this.#tokenRequest
    } catch (error) {
      if (!known || Date.now() >= known.expiresAtMs || !isTransient(error)) throw error
      const pauseMs = Math.max(renewalPauseMs, 1000 * (error.retryAfterSeconds ?? 0))
      known.renewAtMs = Math.min(Date.now() + pauseMs, known.expiresAtMs)
      return known.value
    }
  }

  async #requestToken(endMs: number): Promise<string> {
    const { clientId, clientSecret } = this.#options
    const headers = { Authorization: `Basic ${encodeBase64(`${clientId}:${clientSecret}`)}` }
    const requestedAtMs = Date.now()
    const { response, body } = await this.#send('/auth', { method: 'POST', headers }, endMs)
    const { access_token: value, expires_in: lifetimeSeconds }: { access_token?: string; expires_in?: number } =
      Object(body)
    if (typeof value !== 'string' || typeof lifetimeSeconds !== 'number') throw createForeignError(response)
    const lifetimeMs = 1000 * lifetimeSeconds
    this.#token = {
      value,
      renewAtMs: requestedAtMs + usableLifetimeShare * lifetimeMs,
      expiresAtMs: requestedAtMs + lifetimeMs,
    }
    this.#save(endMs)
    return value
  }

  /** State of other credentials, or of another format, counts as none. */
  async #load(endMs: number): Promise<void> {
    const { store } = this.#options
    const text =
      store && (await endAfter(endMs - performance.now(), 'The store did not answer', async () => store.read()))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `save` wrote it
    const state = (text === undefined ? undefined : parseJson(text)) as StoredState | undefined
    if (state?.format !== stateFormat || !Array.isArray(state.lists)) return
    if (state.clientId !== this.#options.clientId || state.baseUrl !== this.#options.baseUrl) return
    this.#token = state.token
    for (const [query, list] of state.lists) this.#lists.set(query, list)
  }

  /** Waits until the state is stored. A failure fails the requests that wait for it, and no later ones. */
  async #saved(): Promise<void> {
    const saving = this.#saving
    await saving.finally(() => {
      if (this.#saving === saving) this.#saving = Promise.resolve()
    })
  }

  /** One write at a time. */
  #save(endMs: number): void {
    const { store, clientId, baseUrl } = this.#options
    if (!store) return
    this.#saving = this.#saving
      .catch(() => {})
      .then(() => {
        const lists = [...this.#lists]
        const state: StoredState = { format: stateFormat, clientId, baseUrl, token: this.#token, lists }
        const write = async () => store.write(JSON.stringify(state))
        return endAfter(endMs - performance.now(), 'The store did not answer', write)
      })
    // `#saved` reports the failure.
    this.#saving.catch(() => {})
  }

  /**
   * Returns a response with a status of 2xx or 304, and its body as JSON.
   * @throws InvestmentPlansError for any other outcome
   */
  async #send(
    path: string,
    init: { method?: string; headers: Record<string, string> },
    endMs: number,
  ): Promise<{ response: Response; body: unknown }> {
    const { baseUrl, fetch: send = fetch, timeoutMs = 15_000 } = this.#options
    const limitMs = Math.min(timeoutMs, endMs - performance.now())
    // Workers send none of their own, and Cloudflare can refuse a request without one.
    const headers = { 'User-Agent': `investment-plans-typescript/${clientVersion}`, ...init.headers }
    const problem = 'There was no complete response'
    const { response, text } = await endAfter(limitMs, problem, async (signal) => {
      try {
        // A redirect would send the credentials to another address.
        const request = { ...init, headers, redirect: 'manual', signal } as const
        const answer = await send(`${baseUrl}/api/v3/partners${path}`, request)
        return { response: answer, text: await answer.text() }
      } catch (error) {
        const cause = error instanceof Error ? (error.cause ?? error) : error
        throw new InvestmentPlansError(`${problem}: ${String(cause)}`, { code: 'connection_failed' })
      }
    })
    const body = parseJson(text)
    if (response.ok || response.status === 304) return { response, body }
    throw createError(response, body ?? { message: `${describe(response)}, and no JSON: ${text.slice(0, 100)}` })
  }
}

interface Token {
  value: string
  renewAtMs: number
  expiresAtMs: number
}

const stateFormat = 2

interface StoredState {
  format: typeof stateFormat
  clientId: string
  baseUrl: string
  token: Token | undefined
  lists: [query: string, list: { etag: string; plans: Plan[] }][]
}

/** The difference between the plans that you have and the plans of the list. */
export function comparePlans(before: readonly Plan[], after: readonly Plan[]): PlanChanges {
  const old = new Map(before.map((plan) => [plan.identifier, plan]))
  const identifiers = new Set(after.map(({ identifier }) => identifier))
  const removed = before.filter(({ identifier }) => !identifiers.has(identifier))
  return {
    plans: [...after],
    added: after.filter(({ identifier }) => !old.has(identifier)),
    removed,
    changed: after.flatMap((plan) => {
      const known = old.get(plan.identifier)
      return known && !isEqual(known, plan) ? [{ before: known, after: plan }] : []
    }),
    removedShare: before.length === 0 ? 0 : removed.length / before.length,
  }
}

/** Compares JSON values. The order of keys, such as currencies, has no meaning. */
function isEqual(one: unknown, other: unknown): boolean {
  if (!(one instanceof Object && other instanceof Object)) return one === other
  const keys = Object.keys(one)
  const isSame = (key: string) => isEqual(Reflect.get(one, key), Reflect.get(other, key))
  return keys.length === Object.keys(other).length && keys.every(isSame)
}

/** Whether the same request can succeed a little later. */
function isTransient(error: unknown): error is InvestmentPlansError {
  if (!(error instanceof InvestmentPlansError)) return false
  return error.status === undefined || error.status === 429 || error.status >= 500
}

/** Whether the service would refuse the same request again: every 4xx but a timeout and the rate limit. */
function isPermanent(error: unknown): boolean {
  if (!(error instanceof InvestmentPlansError) || error.status === undefined) return false
  return error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
}

/**
 * Ends at the limit, also if the action ignores the signal: `fetch` and the store are yours.
 * @throws InvestmentPlansError `timeout`, with a message that starts with the problem
 */
async function endAfter<Value>(
  ms: number,
  problem: string,
  act: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const limitMs = Math.max(0, Math.ceil(Math.min(ms, maxPauseMs)))
  const signal = AbortSignal.timeout(limitMs)
  const end = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', reject)
  })
  try {
    return await Promise.race([act(signal), end])
  } catch (error) {
    throw signal.aborted ? new InvestmentPlansError(`${problem} within ${limitMs} ms.`, { code: 'timeout' }) : error
  }
}

/** Ends early when the signal aborts. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end)
  })
}

/** Encodes the text as UTF-8, then as Base64 (RFC 7617). */
export function encodeBase64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
}

/** Sorts the filters, so that equal filters share one stored list. */
function formatQuery(filter: PlanFilter): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) {
    if (!filterNames.includes(name))
      throw new TypeError(`There is no filter ${name}. The filters are ${filterNames.join(', ')}.`)
    if (value !== undefined) query.append(name, String(value))
  }
  query.sort()
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function createError(response: Response, body: unknown): InvestmentPlansError {
  const { message, error, requestId }: { message?: string; error?: string; requestId?: string } = Object(body)
  return new InvestmentPlansError(message ?? `${describe(response)}.`, {
    status: response.status,
    code: error ?? 'unknown',
    requestId: requestId ?? response.headers.get('X-Request-Id') ?? undefined,
    retryAfterSeconds: parseRetryAfter(response.headers.get('Retry-After') ?? ''),
  })
}

/** Takes seconds, or a date (RFC 9110, section 10.2.3). */
function parseRetryAfter(value: string): number | undefined {
  const seconds = /^[\d.]+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

/** A proxy may answer instead of the service, with any status and body. */
function createForeignError(response: Response): InvestmentPlansError {
  return createError(response, { message: 'The response did not come from the service.' })
}

function describe({ status }: Response): string {
  return `The service answered with status ${status}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
