/**
 * Lists the investment plans of your country. One file without dependencies, for servers: copy it, or import it. It runs
 * wherever `fetch` does (Node 18 or newer, Deno, Bun, Workers). It has no business in an app or a page that you publish,
 * whose users would have your secret.
 *
 *     const client = new InvestmentPlansClient({ baseUrl, clientId, clientSecret, shortName })
 *     const plans = await client.listPlans({ currency: 'KES' })
 */
export interface ClientOptions {
  /** Such as `https://catalog.example.com`. */
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Your short name, as it is in the path. */
  shortName: string
  /** Instead of the global one. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How long an answer may take, in milliseconds: 15,000 unless given. */
  timeoutMs?: number
}

/** Filters combine with AND. */
export interface PlanFilter {
  categoryId?: number
  fundType?: string
  /** ISO 4217, in any case: the plan's base currency. */
  currency?: string
}

interface Named {
  id: number
  name: string
}

/** Amounts are in major units, keyed by ISO 4217 currency code. */
export type Amounts = Record<string, number>

export interface Plan {
  id: number
  /** Stable and machine-readable. */
  identifier: string
  name: string
  /** Short and friendly: what your customers see. */
  coolName: string
  about: string
  hint: string
  imageUrl: string
  thumbnail: string
  sector: string
  fundType: string
  profitType: string
  profitTypeDescription: string
  /** Annualised returns in per cent per year; null where they are not known. */
  performance1: number | null
  performance3: number | null
  performance5: number | null
  performance10: number | null
  /** YYYY-MM-DD */
  performanceDate: string
  currency: string
  minInvestableAmounts: Amounts
  minTopUpAmounts: Amounts
  tenor: string
  /** Days; 0 means none. */
  lockInPeriod: number
  partialWithdrawable: boolean
  factSheet: string
  prospectus: string
  isInvestable: boolean
  /** Why `isInvestable` is false. */
  nonInvestableNote: string | null
  category: { id: number; name: string; displayName: string; tagLine: string } | null
  planType: Named | null
  productRiskLevel: Named | null
  fundManager: Named | null
  fundCurrency: { currency: string } | null
}

/** A refusal. Its message says what is wrong and what would be right; quote `requestId` when you ask for help. */
export class InvestmentPlansError extends Error {
  override readonly name = 'InvestmentPlansError'
  /** The HTTP status. */
  readonly status: number
  /** A stable code, such as `invalid_client`. */
  readonly code: string
  readonly requestId: string | undefined
  /** How long to wait before the next attempt, where the service said so. */
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

/** A token is renewed when a tenth of its life is left, so that none expires on its way. */
const usableLife = 0.9
/** Something in between may answer in its own way, and with any status. */
const notOurs = 'What came is not an answer of the service.'
/** Lists that are kept for their ETag, one per filter set. */
const mostLists = 100

export class InvestmentPlansClient {
  readonly #options: ClientOptions
  #token: { value: string; renewAtMs: number } | undefined
  #tokenRequest: Promise<string> | undefined
  readonly #lists = new Map<string, { etag: string; plans: Plan[] }>()

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /**
   * The plans that match, in ascending `id`; none is an empty array. Asks each time, but transfers the list only when it
   * has changed: treat what you get as read-only.
   * @throws InvestmentPlansError when the service refuses; whatever `fetch` throws when it can't be reached.
   */
  async listPlans(filter: PlanFilter = {}): Promise<Plan[]> {
    const token = await this.#getToken()
    const response = await this.#requestPlans(filter, token)
    if (response.status !== 401) return this.#readPlans(filter, response)
    // Suspended, rotated or expired meanwhile: a new token helps or is refused.
    await response.body?.cancel()
    if (this.#token?.value === token) this.#token = undefined
    return this.#readPlans(filter, await this.#requestPlans(filter, await this.#getToken()))
  }

  #requestPlans(filter: PlanFilter, token: string): Promise<Response> {
    const query = queryOf(filter)
    const known = this.#lists.get(query)
    const headers = { Authorization: `Bearer ${token}`, ...(known && { 'If-None-Match': known.etag }) }
    return this.#send(`/${encodeURIComponent(this.#options.shortName)}/plans${query}`, { headers })
  }

  async #readPlans(filter: PlanFilter, response: Response): Promise<Plan[]> {
    const query = queryOf(filter)
    const known = this.#lists.get(query)
    if (response.status === 304 && known) return known.plans
    if (!response.ok) throw await errorOf(response)
    const plans = (await readJson<{ data?: { plans?: Plan[] } }>(response))?.data?.plans
    if (!Array.isArray(plans)) throw new InvestmentPlansError(response, { message: notOurs })
    const etag = response.headers.get('ETag')
    this.#lists.delete(query)
    if (etag !== null) this.#lists.set(query, { etag, plans })
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > mostLists && oldest !== undefined) this.#lists.delete(oldest)
    return plans
  }

  /** Those who need one at the same time share one request. */
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
    if (!response.ok) throw await errorOf(response)
    const { access_token: value, expires_in: lifetime = 0 } =
      (await readJson<{ access_token?: string; expires_in?: number }>(response)) ?? {}
    if (typeof value !== 'string') throw new InvestmentPlansError(response, { message: notOurs })
    this.#token = { value, renewAtMs: requestedAtMs + 1000 * usableLife * lifetime }
    return value
  }

  #send(path: string, init: RequestInit): Promise<Response> {
    const { baseUrl, fetch: send = fetch, timeoutMs = 15_000 } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    return send(`${baseUrl.replace(/\/$/, '')}/api/v3/partners${path}`, { ...init, signal })
  }
}

/** Of the UTF-8 (RFC 7617). */
export function encodeBase64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
}

function queryOf({ categoryId, fundType, currency }: PlanFilter): string {
  const query = new URLSearchParams()
  if (categoryId !== undefined) query.set('categoryId', String(categoryId))
  if (currency !== undefined) query.set('currency', currency)
  if (fundType !== undefined) query.set('fundType', fundType)
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

async function errorOf(response: Response): Promise<InvestmentPlansError> {
  return new InvestmentPlansError(response, (await readJson(response)) ?? {})
}

/** @returns what the service documents, or undefined where it is no JSON. */
async function readJson<Body>(response: Response): Promise<Body | undefined> {
  const text = await response.text()
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return JSON.parse(text) as Body
  } catch {
    return undefined
  }
}
