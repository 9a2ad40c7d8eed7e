// Partners' servers, which reuse tokens, poll, burst and hang up; thieves, who try what has ended; and strangers, who guess.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { createRandom } from './random.ts'
import type { Secret, Token } from './rules.ts'
import type { Isolate, Manners } from './service.ts'
import type { World } from './town.ts'
import { locations, minuteMs, secondMs } from './weather.ts'

interface Customer {
  shortName: string
  clientId: string
  location: number
  secrets: Secret[]
  /** The secret that its server has. */
  current: Secret
  token: Token | undefined
  /** Those that may be valid. */
  tokens: Token[]
  etags: Map<string, string>
}

export type Partners = ReturnType<typeof createPartners>

const filters: [query: string, filter: PlanFilter][] = [
  ...Array.from({ length: 4 }, (): [string, PlanFilter] => ['', {}]),
  ['?currency=kes', { currency: 'KES' }],
  ['?fundType=EQUITY', { fundType: 'EQUITY' }],
  ['?categoryId=2&currency=USD', { categoryId: 2, currency: 'USD' }],
  ['?fundType=NONE', { fundType: 'NONE' }],
]

export function createPartners({
  clock,
  service,
  record,
  rules,
  seed,
}: Pick<World, 'clock' | 'service' | 'record' | 'rules' | 'seed'>) {
  const random = createRandom(`${seed} partners`)
  const customers = new Map<string, Customer>()

  /** Most callers wait for their answer, and read it at once. */
  function chooseManners(): Manners {
    if (random.chance(0.04)) return { hangUpAfterMs: random.pick([random.between(1, 150), random.between(100, 6000)]) }
    return random.chance(0.02) ? { pauseMs: random.pick([50, 2000, 20_000]) } : {}
  }

  async function signIn(
    isolate: Isolate,
    customer: Customer,
    secret: Secret | undefined,
    address: string,
    manners: Manners = {},
  ): Promise<Token | undefined> {
    const { shortName, clientId } = customer
    const password = secret?.text ?? `guess-${random.below(1e9)}`
    const headers = { Authorization: `Basic ${btoa(`${clientId}:${password}`)}`, 'CF-Connecting-IP': address }
    const answer = await service.send(isolate, 'auth', { method: 'POST', headers }, manners)
    const token = answer && rules.checkSignIn(answer, shortName, secret)
    const alive = customer.tokens.filter(({ expiresAtMs }) => expiresAtMs > clock.nowMs() - 5 * minuteMs)
    if (token) customer.tokens = [...alive, token].slice(-60)
    return token
  }

  async function list(
    isolate: Isolate,
    customer: Customer,
    token: Token,
    manners: Manners,
    shortName = customer.shortName,
  ): Promise<number> {
    const [query, filter] = random.pick(filters)
    const etag = customer.etags.get(query)
    const headers = {
      Authorization: `Bearer ${token.text}`,
      ...(etag !== undefined && random.chance(0.5) && { 'If-None-Match': etag }),
    }
    const answer = await service.send(isolate, `${shortName}/plans${query}`, { headers }, manners)
    if (answer === undefined) return 0
    rules.checkList(answer, token, { shortName, filter, query })
    if (answer.status === 200) customer.etags.set(query, answer.headers.get('ETag') ?? '')
    return answer.status
  }

  /** A partner that was changed is watched closely. */
  const isHot = ({ shortName }: Customer) =>
    (record.accounts.get(shortName)?.states.at(-1)?.fromMs ?? 0) > clock.nowMs() - 4 * minuteMs

  async function poll(customer: Customer): Promise<void> {
    const isolate = service.pickIsolate(customer.location)
    const isDue = (customer.token?.expiresAtMs ?? 0) < clock.nowMs() + 5 * minuteMs
    // Some servers get a token for each call.
    if (isDue || random.chance(0.06)) {
      customer.token = await signIn(
        isolate,
        customer,
        customer.current,
        `203.0.113.${customer.location}`,
        chooseManners(),
      )
    }
    const { token } = customer
    if (token === undefined) return
    const calls = Array.from({ length: random.chance(0.05) ? 12 : 1 }, () =>
      list(isolate, customer, token, chooseManners()),
    )
    if ((await Promise.all(calls)).includes(401) && customer.token === token) customer.token = undefined
  }

  async function live(customer: Customer): Promise<void> {
    const meanMs = random.chance(0.15) ? 40 * minuteMs : random.between(40, 300) * secondMs
    for (;;) {
      await clock.sleep(isHot(customer) ? random.between(1, 8) * secondMs : random.around(meanMs))
      await poll(customer)
    }
  }

  /** Tries old secrets and tokens, and a token on the path of another partner. */
  async function steal(customer: Customer): Promise<void> {
    for (;;) {
      await clock.sleep(isHot(customer) ? random.between(1, 6) * secondMs : random.around(3 * minuteMs))
      const isolate = random.pick(service.state.isolates)
      const { secrets, tokens } = customer
      if (secrets.length > 1 && random.chance(0.4))
        await signIn(isolate, customer, random.pick(secrets.slice(-4)), '198.51.100.7')
      if (tokens.length > 0)
        await list(isolate, customer, random.pick(tokens), {}, random.chance(0.05) ? 'other' : undefined)
    }
  }

  /** Guesses secrets, sometimes until the limit of a client is used up. */
  async function guess(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(2 * minuteMs))
      const customer = random.pick([...customers.values()])
      const isolate = random.pick(service.state.isolates)
      const attempts = random.chance(0.005) ? 350 : 1
      for (let attempt = 0; attempt < attempts; attempt++)
        await signIn(isolate, customer, undefined, `2001:db8:${random.below(9)}::1`)
    }
  }

  return {
    /** A partner gets a secret, and uses it after a while. */
    onSecret(
      { shortName, clientId, clientSecret }: Record<'shortName' | 'clientId' | 'clientSecret', string>,
      commandId: number,
    ): void {
      const secret = { text: clientSecret, commandId, shownAtMs: clock.nowMs() }
      const known = customers.get(shortName)
      if (known) {
        known.secrets.push(secret)
        const isQuick = random.chance(0.5)
        clock.after(random.between(1, isQuick ? 30 : 900) * secondMs, () =>
          Object.assign(known, { current: secret, token: undefined }),
        )
        return
      }
      const customer = {
        shortName,
        clientId,
        location: random.below(locations.length),
        secrets: [secret],
        current: secret,
      }
      customers.set(shortName, { ...customer, token: undefined, tokens: [], etags: new Map() })
      const made = customers.get(shortName) as Customer
      void live(made)
      void steal(made)
    },
    /** Signs in again and again for some seconds. */
    hurry(shortName: string): void {
      const customer = customers.get(shortName)
      const isolate = random.pick(service.state.isolates)
      for (let call = 0; customer && call < 25; call++)
        clock.after(call * 120, () => void signIn(isolate, customer, customer.current, '203.0.113.99'))
    },
    start: () => void guess(),
  }
}
