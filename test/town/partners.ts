// Partners' servers, which reuse tokens, poll, burst and hang up; thieves, who try what has ended; and strangers, who guess.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { Town } from './journal.ts'
import { createRandom } from './random.ts'
import type { TownRecord } from './record.ts'
import type { Rules, Secret, Token } from './rules.ts'
import type { Isolate, Manners, Service } from './service.ts'
import { locations, minuteMs, secondMs } from './weather.ts'

export type Partners = ReturnType<typeof createPartners>
type World = Town & { service: Service; record: TownRecord; rules: Rules }
type Client = Record<'shortName' | 'clientId', string>

const unfiltered: [query: string, filter: PlanFilter] = ['', {}]
const filters: (typeof unfiltered)[] = [
  ...Array.from({ length: 4 }, () => unfiltered),
  ['?currency=kes', { currency: 'KES' }],
  ['?fundType=EQUITY', { fundType: 'EQUITY' }],
  ['?categoryId=2&currency=USD', { categoryId: 2, currency: 'USD' }],
  ['?fundType=NONE', { fundType: 'NONE' }],
]

export function createPartners({ clock, service, record, rules, seed }: World) {
  const random = createRandom(`${seed} partners`)
  const customers = new Map<string, ReturnType<typeof createCustomer>>()

  /** Most callers wait for their answer, and read it at once. */
  function chooseManners(): Manners {
    if (random.chance(0.04)) return { hangUpAfterMs: random.pick([random.between(1, 150), random.between(100, 6000)]) }
    return random.chance(0.02) ? { pauseMs: random.pick([50, 2000, 20_000]) } : {}
  }

  function createCustomer({ shortName, clientId }: Client, first: Secret) {
    const location = random.below(locations.length)
    const meanMs = random.chance(0.15) ? 40 * minuteMs : random.between(40, 300) * secondMs
    const etags = new Map<string, string>()
    const secrets = [first]
    /** All tokens that may still be valid, also those that only a thief uses. */
    let tokens: Token[] = []
    /** The secret and the token that the partner's server uses. */
    let [current, own]: [Secret, Token | undefined] = [first, undefined]

    async function signIn(isolate: Isolate, secret: Secret | undefined, address: string, manners: Manners = {}) {
      const password = secret?.text ?? `guess-${random.below(1e9)}`
      const headers = { Authorization: `Basic ${btoa(`${clientId}:${password}`)}`, 'CF-Connecting-IP': address }
      const answer = await service.send(isolate, 'auth', { method: 'POST', headers }, manners)
      const token = answer && rules.checkSignIn(answer, shortName, secret)
      const alive = tokens.filter(({ expiresAtMs }) => expiresAtMs > clock.nowMs() - 5 * minuteMs)
      if (token) tokens = [...alive, token].slice(-60)
      return token
    }

    async function list(isolate: Isolate, token: Token, manners: Manners = {}, path = shortName) {
      const [query, filter] = random.pick(filters)
      const etag = etags.get(query)
      const condition = etag !== undefined && random.chance(0.5) && { 'If-None-Match': etag }
      const headers = { Authorization: `Bearer ${token.text}`, ...condition }
      const answer = await service.send(isolate, `${path}/plans${query}`, { headers }, manners)
      if (answer) rules.checkList(answer, token, { shortName: path, filter, query })
      if (answer?.status === 200) etags.set(query, answer.headers.get('ETag') ?? '')
      return answer?.status
    }

    /** Whether the partner was changed in the last four minutes: then requests come often. */
    const isHot = () => (record.accounts.get(shortName)?.states.at(-1)?.fromMs ?? 0) > clock.nowMs() - 4 * minuteMs

    async function live(): Promise<void> {
      for (;;) {
        await clock.sleep(isHot() ? random.between(1, 8) * secondMs : random.around(meanMs))
        const isolate = service.pickIsolate(location)
        const isDue = (own?.expiresAtMs ?? 0) < clock.nowMs() + 5 * minuteMs
        // Some servers get a token for each call.
        if (isDue || random.chance(0.06)) own = await signIn(isolate, current, `203.0.113.${location}`, chooseManners())
        const token = own
        if (token === undefined) continue
        const count = random.chance(0.05) ? 12 : 1
        const statuses = await Promise.all(Array.from({ length: count }, () => list(isolate, token, chooseManners())))
        if (statuses.includes(401)) own = undefined
      }
    }

    /** Tries old secrets and tokens, and a token on the path of another partner. */
    async function steal(): Promise<void> {
      for (;;) {
        await clock.sleep(isHot() ? random.between(1, 6) * secondMs : random.around(3 * minuteMs))
        const isolate = random.pick(service.state.isolates)
        const path = random.chance(0.05) ? 'other' : undefined
        if (secrets.length > 1 && random.chance(0.4))
          await signIn(isolate, random.pick(secrets.slice(-4)), '198.51.100.7')
        if (tokens.length > 0) await list(isolate, random.pick(tokens), {}, path)
      }
    }

    void live()
    void steal()
    return {
      signIn,
      /** Uses a new secret after a while. */
      receive(secret: Secret): void {
        secrets.push(secret)
        clock.after(random.between(1, random.pick([30, 900])) * secondMs, () => ([current, own] = [secret, undefined]))
      },
      getSecret: () => current,
    }
  }

  /** Guesses secrets, sometimes until the limit of a client is used up. */
  async function guess(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(2 * minuteMs))
      const [customer, isolate] = [random.pick([...customers.values()]), random.pick(service.state.isolates)]
      const attempts = random.chance(0.005) ? 350 : 1
      for (let attempt = 0; attempt < attempts; attempt++) {
        await customer.signIn(isolate, undefined, `2001:db8:${random.below(9)}::1`)
      }
    }
  }

  return {
    /** Gives a partner a secret that a command made. */
    onSecret({ clientSecret: text, ...client }: Client & { clientSecret: string }, commandId: number): void {
      const secret = { text, commandId, shownAtMs: clock.nowMs() }
      const known = customers.get(client.shortName)
      if (known) known.receive(secret)
      else customers.set(client.shortName, createCustomer(client, secret))
    },
    /** Signs in again and again for three seconds, at the isolate whose clock is furthest ahead. */
    hurry(shortName: string): void {
      const customer = customers.get(shortName)
      const [isolate] = service.state.isolates.toSorted((a, b) => b.clock.skewMs - a.clock.skewMs)
      if (customer === undefined || isolate === undefined) return
      const signIn = () => void customer.signIn(isolate, customer.getSecret(), '203.0.113.99')
      for (let call = 0; call < 25; call++) clock.after(call * 120, signIn)
    },
    start: () => void guess(),
  }
}
