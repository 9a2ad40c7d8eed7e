// Partners' servers, which reuse tokens, poll, burst and hang up; thieves, who try what has ended; and strangers, who guess.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { Clock } from './clock.ts'
import { createRandom } from './random.ts'
import type { TownRecord } from './record.ts'
import type { Secret, Token, createRules } from './rules.ts'
import type { Isolate, Manners, Service } from './service.ts'
import { locations } from './weather.ts'

interface Customer {
  shortName: string
  clientId: string
  location: number
  /** The oldest first. */
  secrets: Secret[]
  /** The secret that its server has. */
  current: Secret
  token: Token | undefined
  tokens: Token[]
  etags: Map<string, string>
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const filters: [query: string, filter: PlanFilter][] = [
  ['', {}],
  ['', {}],
  ['', {}],
  ['', {}],
  ['?currency=kes', { currency: 'KES' }],
  ['?fundType=EQUITY', { fundType: 'EQUITY' }],
  ['?categoryId=2&currency=USD', { categoryId: 2, currency: 'USD' }],
  ['?fundType=NONE', { fundType: 'NONE' }],
]

export function createPartners(
  clock: Clock,
  service: Service,
  record: TownRecord,
  rules: ReturnType<typeof createRules>,
  seed: string,
) {
  const random = createRandom(`${seed} partners`)
  const customers = new Map<string, Customer>()

  /** Most requests are answered; some callers hang up early. */
  function chooseManners(): Manners {
    if (random.chance(0.04)) return { hangUpAfterMs: random.pick([random.between(1, 150), random.between(100, 6000)]) }
    return random.chance(0.02) ? { pauseMs: random.pick([50, 2000, 20_000]) } : {}
  }

  const basic = (clientId: string, secret: string) => ({ Authorization: `Basic ${btoa(`${clientId}:${secret}`)}` })

  async function signIn(
    isolate: Isolate,
    customer: Customer,
    secret: Secret,
    address: string,
    isOwn: boolean,
  ): Promise<Token | undefined> {
    const { shortName, clientId } = customer
    const headers = { ...basic(clientId, secret.text), 'CF-Connecting-IP': address }
    const answer = await service.send(isolate, 'auth', { method: 'POST', headers }, isOwn ? chooseManners() : {})
    if (answer === undefined) return undefined
    const token = rules.checkSignIn(answer, shortName, secret)
    if (token)
      customer.tokens = [
        ...customer.tokens.filter(({ expiresAtMs }) => expiresAtMs > clock.nowMs() - 5 * minuteMs),
        token,
      ].slice(-60)
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

  const address = ({ location }: Customer) => `203.0.113.${location}`
  const isHot = ({ shortName }: Customer) =>
    (record.accounts.get(shortName)?.states.at(-1)?.fromMs ?? 0) > clock.nowMs() - 4 * minuteMs

  async function poll(customer: Customer): Promise<void> {
    const isolate = service.pickIsolate(customer.location)
    const isDue = customer.token === undefined || customer.token.expiresAtMs < clock.nowMs() + 5 * minuteMs
    // Some servers get a token for each call.
    if (isDue || random.chance(0.06))
      customer.token = await signIn(isolate, customer, customer.current, address(customer), true)
    const { token } = customer
    if (token === undefined) return
    const count = random.chance(0.05) ? 2 + random.below(10) : 1
    const calls = Array.from({ length: count }, () => list(isolate, customer, token, chooseManners()))
    if ((await Promise.all(calls)).includes(401) && customer.token === token) customer.token = undefined
  }

  async function live(customer: Customer): Promise<void> {
    const meanMs = random.between(40, 300) * secondMs
    const isDaily = random.chance(0.15)
    for (;;) {
      await clock.sleep(
        isHot(customer) ? random.between(1, 8) * secondMs : random.around(isDaily ? 40 * minuteMs : meanMs),
      )
      await poll(customer)
    }
  }

  /** Tries old secrets and tokens, and the tokens of one partner on the path of another. */
  async function steal(customer: Customer): Promise<void> {
    for (;;) {
      await clock.sleep(isHot(customer) ? random.between(1, 6) * secondMs : random.around(3 * minuteMs))
      const isolate = random.pick(service.state.isolates)
      const { secrets, tokens } = customer
      if (secrets.length > 1 && random.chance(0.4))
        await signIn(isolate, customer, random.pick(secrets.slice(-4)), '198.51.100.7', false)
      if (tokens.length > 0)
        await list(isolate, customer, random.pick(tokens), {}, random.chance(0.05) ? 'other' : undefined)
    }
  }

  async function guess(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(2 * minuteMs))
      const customer = random.pick([...customers.values()])
      const isolate = random.pick(service.state.isolates)
      const isBurst = random.chance(0.02)
      for (let attempt = 0; attempt < (isBurst ? 350 : 1); attempt++) {
        const headers = {
          ...basic(customer.clientId, `guess-${random.below(1e9)}`),
          'CF-Connecting-IP': `2001:db8:${random.below(9)}::1`,
        }
        const answer = await service.send(isolate, 'auth', { method: 'POST', headers })
        if (answer) rules.checkSignIn(answer, customer.shortName, undefined)
      }
    }
  }

  return {
    /** A partner gets a secret, and uses it after a while. */
    onSecret(
      { shortName, clientId, clientSecret }: { shortName: string; clientId: string; clientSecret: string },
      commandId: number,
    ): void {
      const secret = { text: clientSecret, commandId, shownAtMs: clock.nowMs() }
      const known = customers.get(shortName)
      if (known) {
        known.secrets.push(secret)
        clock.after(random.pick([random.between(1, 30) * secondMs, random.between(1, 15) * minuteMs]), () => {
          known.current = secret
          known.token = undefined
        })
        return
      }
      const location = random.below(locations.length)
      const customer = {
        shortName,
        clientId,
        location,
        secrets: [secret],
        current: secret,
        token: undefined,
        tokens: [],
        etags: new Map<string, string>(),
      }
      customers.set(shortName, customer)
      void live(customer)
      void steal(customer)
    },
    start: () => void guess(),
  }
}
