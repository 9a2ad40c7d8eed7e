/**
 * Lists the investment plans of your country. One file without dependencies: copy it into your project. It runs on
 * servers with `fetch`: Node 18 or newer, Deno, Bun, Workers. Don't use it in an app or a web page that you publish,
 * because its users could read your client secret.
 *
 *     const client = new InvestmentPlansClient({ baseUrl, clientId, clientSecret, shortName })
 *     const plans = await client.listPlans({ currency: 'KES' })
 */
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
  /** No longer to be offered. Who holds such a plan keeps it. */
  removed: Plan[]
  changed: { before: Plan; after: Plan }[]
  /** The removed plans, as a share of the list before: 1 if none of them is left. Ask a person before you act on a large one. */
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

/** The service refused a request. The message says why and how to fix it. Quote `requestId` when you contact support. */
export class InvestmentPlansError extends Error {
  override readonly name = 'InvestmentPlansError'
  /** The HTTP status. */
  readonly status: number
  /** A stable code, such as `invalid_client`; `unknown` when the response did not come from the service. */
  readonly code: string
  readonly requestId: string | undefined
  /** Seconds to wait before the next attempt, when the service sent `Retry-After`. */
  readonly retryAfterSeconds: number | undefined

  constructor(response: Response, body: { message?: string; error?: string; requestId?: string }) {
    super(body.message ?? `The service answered with status ${response.status}.`)
    this.status = response.status
    this.code = body.error ?? 'unknown'
    this.requestId = body.requestId ?? response.headers.get('X-Request-Id') ?? undefined
    const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN)
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined
  }
}

/** Renews a token after this share of its lifetime, so that it doesn't expire while a request is on its way. */
const usableLifetimeShare = 0.9
/** A proxy may answer instead of the service, with any status and body. */
const foreignResponse = 'The response did not come from the service.'
/** The client keeps at most this many lists with their ETags, one per set of filters. */
const maxLists = 100
/** The longest pause of `watchPlans` after failures. */
const maxBackOffMs = 15 * 60_000
/** The longest pause that `Retry-After` can ask for. A timer takes at most 24.8 days. */
const maxPauseMs = 24 * 3600_000

export class InvestmentPlansClient {
  readonly #options: ClientOptions
  #token: { value: string; renewAtMs: number } | undefined
  #tokenRequest: Promise<string> | undefined
  readonly #lists = new Map<string, { etag: string; plans: Plan[] }>()
  #loading: Promise<void> | undefined
  #saving: Promise<void> = Promise.resolve()

  constructor(options: ClientOptions) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/$/, '') }
  }

  /**
   * Returns the plans that match all filters, in ascending order of `id`; an empty array if none matches. Every call asks
   * the service, which sends the list only if it has changed; otherwise you get the same array again, so don't modify it.
   * @throws InvestmentPlansError when the service refuses the request, and the error of `fetch` when it can't be reached.
   */
  async listPlans(filter: PlanFilter = {}): Promise<Plan[]> {
    const { plans } = await this.fetchPlans(filter)
    return plans
  }

  /** Like `listPlans`, and says whether the list is the one of the request before. */
  async fetchPlans(filter: PlanFilter = {}): Promise<PlanList> {
    this.#loading ??= this.#load()
    await this.#loading.catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    const list = await this.#fetchPlans(filter)
    await this.#saved()
    return list
  }

  /**
   * Asks again and again, and yields each difference: at first the one to your copy, then the one to the list of the loop before.
   * After a restart, pass your copy again. Waits longer after failures, as long as `Retry-After` says.
   * @throws InvestmentPlansError when a further attempt would be refused, too, such as after wrong credentials
   */
  async *watchPlans({
    copy = [],
    filter = {},
    intervalMs = 60_000,
    signal,
    onError,
  }: WatchOptions = {}): AsyncGenerator<PlanChanges> {
    let known = copy
    let failures = 0
    for (;;) {
      if (signal?.aborted) return
      let waitMs = intervalMs
      try {
        const { plans } = await this.fetchPlans(filter)
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

  async #fetchPlans(filter: PlanFilter): Promise<PlanList> {
    const token = await this.#getToken()
    const response = await this.#requestPlans(filter, token)
    if (response.status !== 401) return this.#readPlans(filter, response)
    // The token may have expired, or its signing key may be gone. Retry once with a new token.
    await response.body?.cancel()
    if (this.#token?.value === token) this.#token = undefined
    return this.#readPlans(filter, await this.#requestPlans(filter, await this.#getToken()))
  }

  #requestPlans(filter: PlanFilter, token: string): Promise<Response> {
    const query = formatQuery(filter)
    const known = this.#lists.get(query)
    const headers = { Authorization: `Bearer ${token}`, ...(known && { 'If-None-Match': known.etag }) }
    return this.#send(`/${encodeURIComponent(this.#options.shortName)}/plans${query}`, { headers })
  }

  async #readPlans(filter: PlanFilter, response: Response): Promise<PlanList> {
    const query = formatQuery(filter)
    const known = this.#lists.get(query)
    if (response.status === 304 && known) return { plans: known.plans, isUnchanged: true }
    if (!response.ok) throw await readError(response)
    const plans = (await readJson<{ data?: { plans?: Plan[] } }>(response))?.data?.plans
    if (!Array.isArray(plans)) throw new InvestmentPlansError(response, { message: foreignResponse })
    const etag = response.headers.get('ETag')
    this.#lists.delete(query)
    if (etag !== null) this.#lists.set(query, { etag, plans })
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > maxLists && oldest !== undefined) this.#lists.delete(oldest)
    this.#save()
    return { plans, isUnchanged: known !== undefined && known.etag === etag }
  }

  /** Concurrent calls share one token request. */
  async #getToken(): Promise<string> {
    if (this.#token && Date.now() < this.#token.renewAtMs) return this.#token.value
    this.#tokenRequest ??= this.#requestToken().finally(() => {
      this.#tokenRequest = undefined
    })
    return this.#tokenRequest
  }

  async #requestToken(): Promise<string> {
    const { clientId, clientSecret } = this.#options
    const headers = { Authorization: `Basic ${encodeBase64(`${clientId}:${clientSecret}`)}` }
    const requestedAtMs = Date.now()
    const response = await this.#send('/auth', { method: 'POST', headers })
    if (!response.ok) throw await readError(response)
    const { access_token: value, expires_in: lifetimeSeconds = 0 } =
      (await readJson<{ access_token?: string; expires_in?: number }>(response)) ?? {}
    if (typeof value !== 'string') throw new InvestmentPlansError(response, { message: foreignResponse })
    this.#token = { value, renewAtMs: requestedAtMs + 1000 * usableLifetimeShare * lifetimeSeconds }
    this.#save()
    return value
  }

  /** State of other credentials, or of another format, counts as none. */
  async #load(): Promise<void> {
    const text = await this.#options.store?.read()
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
  #save(): void {
    const { store, clientId, baseUrl } = this.#options
    if (!store) return
    this.#saving = this.#saving
      .catch(() => {})
      .then(() => {
        const lists = [...this.#lists]
        const state: StoredState = { format: stateFormat, clientId, baseUrl, token: this.#token, lists }
        return store.write(JSON.stringify(state))
      })
    // `#saved` reports the failure.
    this.#saving.catch(() => {})
  }

  #send(path: string, init: { method?: string; headers: Record<string, string> }): Promise<Response> {
    const { baseUrl, fetch: send = fetch, timeoutMs = 15_000 } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    // Workers send none of their own, and Cloudflare can refuse a request without one.
    const headers = { 'User-Agent': 'investment-plans-typescript', ...init.headers }
    // A redirect would send the credentials to another address.
    return send(`${baseUrl}/api/v3/partners${path}`, { ...init, headers, redirect: 'manual', signal })
  }
}

const stateFormat = 1

interface StoredState {
  format: typeof stateFormat
  clientId: string
  baseUrl: string
  token: { value: string; renewAtMs: number } | undefined
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

/** Whether the service would refuse the same request again: every 4xx but a timeout and the rate limit. */
function isPermanent(error: unknown): boolean {
  if (!(error instanceof InvestmentPlansError)) return false
  return error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
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
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  query.sort()
  return given.length === 0 ? '' : `?${query.toString()}`
}

async function readError(response: Response): Promise<InvestmentPlansError> {
  const text = await response.text()
  const message = `The service answered with status ${response.status}, and no JSON: ${text.slice(0, 100)}`
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const body = parseJson(text) as { message?: string; error?: string; requestId?: string } | undefined
  return new InvestmentPlansError(response, body ?? { message })
}

/** Returns the parsed body, or undefined when it isn't JSON. */
async function readJson<Body>(response: Response): Promise<Body | undefined> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return parseJson(await response.text()) as Body | undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
