// npm run soak: partners and attackers use the Worker as deployed, for --minutes minutes, while its stores fail and recover
// and operators change secrets, keys, plans and partners. Exits with 1 if the rules below don't allow an answer.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { getPartnerKey } from '../../src/api/cache-keys.ts'
import { generateClientId, generateClientSecret, hashSecret } from '../../src/crypto/client-secret.ts'
import { generateJwk, type OctJwk } from '../../src/crypto/signing-keys.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import type { PartnerChange } from '../../src/db/partner-changes.ts'
import { readOrdinaryPlans } from '../support/demo-plans.ts'
import { updatePartner } from '../support/insert-partner.ts'
import type { Conditions } from './faulty.ts'
import { buildBundle, createPartner, importPlans, startService, type BenchPartner } from './service.ts'

const { values: flags } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, clients: { type: 'string', default: '16' } },
})
const endsAtMs = Date.now() + Number(flags.minutes) * 60_000
const note = (text: string) => void process.stderr.write(`${text}\n`)

const faultMs = 15_000
const calmMs = 10_000
/** How long a fault shows after its end: a request may share the result of one that waited 5 s for D1. */
const graceMs = 6000
/** How long a cached copy may show an old state: two minutes, and a second for running requests. */
const staleMs = 121_000
/** How long an isolate uses a partner's copy from KV before it reads KV again, and a second for running requests. */
const copyMs = 61_000
/** The longest answer: two reads, the partner and the list, each up to 2 s for KV and 5 s for D1. */
const maxAnswerMs = 15_000

type Fault = Pick<Conditions, 'd1' | 'kv'>
const faults: Fault[] = [
  { d1: 'error', kv: 'fine' },
  { d1: 'hang', kv: 'fine' },
  { d1: 'slow', kv: 'fine' },
  { d1: 'fine', kv: 'error' },
  { d1: 'fine', kv: 'hang' },
  { d1: 'fine', kv: 'garbage' },
  { d1: 'fine', kv: 'truncated' },
  { d1: 'error', kv: 'error' },
  { d1: 'hang', kv: 'hang' },
]

note('Building the Worker, and filling its store …')
const workers = ['one', 'two']
const service = await startService(
  await buildBundle(),
  Object.fromEntries(workers.map((name) => [name, 'test/bench/faulty.ts'])),
  {},
)
const countries = ['KE', 'UG', 'RW', 'TZ']
const plans = await makePlans()
await importPlans(service.d1, plans)

interface SoakSecret {
  secret: string
  hash: string
  /** Unix milliseconds. */
  sinceMs: number
}
interface SoakPartner extends BenchPartner {
  country: string
  /** The valid secrets, newest first. */
  secrets: SoakSecret[]
  token?: string
  /** The last answer to the list without filters, for conditional requests. */
  known?: { etag: string; ids: string } | undefined
}
const partners = await Promise.all(
  Array.from({ length: 12 }, async (_, index): Promise<SoakPartner> => {
    const country = countries[index % countries.length] ?? ''
    const partner = await createPartner(service.d1, `partner-${index}`, country)
    const { clientSecret: secret, secretHash: hash } = partner
    return { ...partner, country, secrets: [{ secret, hash, sinceMs: 0 }] }
  }),
)

/** A change of a partner. Its lists may show the state before it for `staleMs`, and for as long as D1 fails. */
interface Change {
  atMs: number
  countryBefore?: string
}
const changes = new Map<SoakPartner, Change>()
const suspended = new Set<SoakPartner>()
const withdrawal = { plan: plans[0], isWithdrawn: false, atMs: 0 }

let fault: Fault = { d1: 'fine', kv: 'fine' }
let lastD1FaultMs = 0
let lastKvFaultMs = 0
let keys: Pick<Conditions, 'versions'> = { versions: [] }
let commands = Promise.resolve()
const counts = new Map<string, number>()
const unexpected: unknown[] = []

await rotateKeys()
const operations = operate()
const faulting = cycleFaults()
await Promise.all(Array.from({ length: Number(flags.clients) }, () => beClient()))
await Promise.all([operations, faulting])
await service.stop()

for (const [what, count] of [...counts].toSorted(([a], [b]) => a.localeCompare(b))) note(`${count}\t${what}`)
const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
for (const one of unexpected.slice(0, 20)) note(JSON.stringify(one))
process.stdout.write(`${total} answers in ${flags.minutes} minutes, ${unexpected.length} unexpected\n`)
process.exitCode = unexpected.length > 0 ? 1 : 0

async function cycleFaults() {
  await sleep(calmMs)
  for (let turn = 0; Date.now() < endsAtMs; turn++) {
    await setFault(faults[turn % faults.length] ?? { d1: 'fine', kv: 'fine' })
    await sleep(Math.min(faultMs, endsAtMs - Date.now()))
    await setFault({ d1: 'fine', kv: 'fine' })
    await sleep(calmMs)
  }
}

async function setFault(next: Fault) {
  if (fault.d1 !== 'fine') lastD1FaultMs = Date.now()
  if (fault.kv !== 'fine') lastKvFaultMs = Date.now()
  fault = next
  await command()
}

/** Sends the current conditions to the Workers. Calls run one after the other, so that no older state replaces a newer one. */
function command(): Promise<void> {
  commands = commands.then(async () => {
    for (const name of workers) {
      const url = await service.getUrl(name)
      await fetch(url, { method: 'PUT', body: JSON.stringify({ ...fault, ...keys } satisfies Conditions) })
    }
  })
  return commands
}

/** Rotates keys like `keys rotate --remote`: every version verifies the new key before any version signs with it. */
async function rotateKeys() {
  const key = generateJwk()
  const set = (...jwks: OctJwk[]) => JSON.stringify({ keys: jwks })
  const before = keys.versions[0]
  if (before === undefined) {
    keys = { versions: [{ JWT_KEYS: set(key), [`JWT_KEYS_${key.kid}`]: set(key) }] }
    return command()
  }
  const verifies = { ...before, [`JWT_KEYS_NEXT_${key.kid}`]: set(key) }
  const signs = { ...verifies, JWT_KEYS: set(key) }
  for (const versions of [[before, verifies], [verifies], [verifies, signs], [signs]]) {
    keys = { versions }
    await command()
    await sleep(500)
  }
}

/** Changes secrets, keys, countries, suspensions and plans, while the clients go on. */
async function operate() {
  const [rotated, alone, moved, paused] = partners
  if (!rotated || !alone || !moved || !paused) throw new Error('too few partners')
  for (let turn = 0; Date.now() < endsAtMs; turn++) {
    await rotateKeys()
    await rotateSecret(turn % 2 === 0 ? rotated : alone)
    await sleep(3000)
    // Rarely enough that the lists no longer show the previous change of this kind.
    if (turn % 17 === 0) {
      const before = moved.country
      moved.country = before === 'KE' ? 'UG' : 'KE'
      changes.set(moved, { atMs: Date.now(), countryBefore: before })
      await changePartner(moved, { kind: 'set', country: moved.country })
      const isSuspended = !suspended.has(paused)
      changes.set(paused, { atMs: Date.now() })
      if (isSuspended) suspended.add(paused)
      else suspended.delete(paused)
      await changePartner(paused, { kind: isSuspended ? 'suspend' : 'resume' })
      withdrawal.atMs = Date.now()
      withdrawal.isWithdrawn = !withdrawal.isWithdrawn
      const [plan] = plans
      if (plan) await importPlans(service.d1, [{ ...plan, viewableIn: withdrawal.isWithdrawn ? [] : countries }])
    }
  }
}

/** Deletes the partner's copy in KV, too, like the commands. */
async function changePartner({ shortName, clientId }: SoakPartner, change: PartnerChange) {
  await updatePartner(service.d1, shortName, change)
  await service.kv.delete(getPartnerKey(clientId))
}

/** Both secrets work for a while. The clients stop using the old one long before its grace period ends. */
async function rotateSecret(partner: SoakPartner) {
  const secret = generateClientSecret()
  const hash = await hashSecret(secret, 100_000)
  await changePartner(partner, { kind: 'rotate', secretHash: hash, graceSeconds: 10 })
  const next = { secret, hash, sinceMs: Date.now() }
  partner.secrets = [next, ...partner.secrets]
  await sleep(4000)
  partner.secrets = [next]
}

async function beClient() {
  const actions: [number, (partner: SoakPartner) => Promise<void>][] = [
    [60, list],
    [15, listAgain],
    [12, signIn],
    [4, signInWrongly],
    [4, listAsAnother],
    [5, listWithGarbage],
  ]
  const weights = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))
  while (Date.now() < endsAtMs) {
    const partner = pick(partners)
    const action = partner.token === undefined ? signIn : pick(weights)
    // A failed connection, or no answer in time.
    await action(partner).catch((error: unknown) =>
      unexpected.push({ action: action.name, fault, error: String(error) }),
    )
    await sleep(10)
  }
}

async function signIn(partner: SoakPartner) {
  const secret = pick(partner.secrets)
  const hasCopy = await isInCopy(partner, secret)
  const during = hasCopy ? 'token while D1 fails' : 'token while D1 fails, no copy of the secret'
  const headers = basic(partner.clientId, secret.secret)
  const answer = await send(isD1Failing() ? during : 'token', '/auth', { method: 'POST', headers })
  // The token endpoint reads D1 every time, so a suspension shows at once. A copy may be older.
  const isChanging = Date.now() - (changes.get(partner)?.atMs ?? 0) < maxAnswerMs
  const mayShowEither = isChanging || (answer.hadD1Fault && isRecent(partner, answer.startedAtMs))
  const status = suspended.has(partner) ? 401 : 200
  // With a copy, a client signs in while D1 fails.
  const mayBeUnavailable = answer.hadD1Fault && (answer.hadKvFault || !hasCopy)
  expectStatus(answer, mayShowEither ? [200, 401] : [status], mayBeUnavailable)
  if (answer.status === 200) partner.token = String(answer.body['access_token'])
}

/** Whether both Workers find the secret in KV's copy of the partner, if KV answers. */
async function isInCopy({ clientId }: SoakPartner, { hash, sinceMs }: SoakSecret): Promise<boolean> {
  const copy = await service.kv.get(getPartnerKey(clientId))
  return copy !== null && copy.includes(hash) && Date.now() - sinceMs > copyMs
}

async function signInWrongly(partner: SoakPartner) {
  const id = Math.random() < 0.5 ? partner.clientId : generateClientId()
  const answer = await send('wrong secret', '/auth', {
    method: 'POST',
    headers: basic(id, generateClientSecret()),
  })
  expectStatus(answer, [401], answer.hadD1Fault)
}

async function list(partner: SoakPartner) {
  const filter = pick([
    {},
    {},
    {},
    { currency: 'USD' },
    { currency: 'KES' },
    { fundType: 'BOND' },
    { fundType: 'none' },
  ])
  await listPlans('list', partner, filter)
}

async function listAgain(partner: SoakPartner) {
  // Keeps its ETag through every 304, so that a wrong 304 would leave an outdated list.
  partner.known = (await listPlans('list again', partner, {}, partner.known)) ?? partner.known
}

async function listPlans(
  what: string,
  partner: SoakPartner,
  filter: Partial<CatalogPlan>,
  known?: SoakPartner['known'],
): Promise<SoakPartner['known']> {
  const query = new URLSearchParams(filter as Record<string, string>).toString()
  const headers = { Authorization: `Bearer ${partner.token}`, ...(known && { 'If-None-Match': known.etag }) }
  const answer = await send(what, `/${partner.shortName}/plans?${query}`, { headers })
  const hasChanged = isRecent(partner, answer.startedAtMs)
  const mayBeSuspended = hasChanged || suspended.has(partner)
  const mayBeActive = hasChanged || !suspended.has(partner)
  const answered = known ? [200, 304] : [200]
  expectStatus(answer, [...(mayBeActive ? answered : []), ...(mayBeSuspended ? [401] : [])], answer.hadD1Fault)
  if (answer.status !== 200 && answer.status !== 304) return undefined
  // A 304 confirms the list that the client has.
  const ids = answer.status === 304 ? known?.ids : idsIn(answer.body)
  const before = changes.get(partner)?.countryBefore
  const seenIn = [partner.country, ...(hasChanged && before !== undefined ? [before] : [])]
  const mayShowEither = isStale(withdrawal.atMs, answer.startedAtMs)
  const allowed = seenIn.flatMap((country) =>
    (mayShowEither ? [true, false] : [withdrawal.isWithdrawn]).map((isWithdrawn) =>
      listIds(country, filter, isWithdrawn),
    ),
  )
  if (ids === undefined || !allowed.includes(ids)) unexpected.push({ ...answer, body: undefined, ids, allowed })
  return ids === undefined ? undefined : { etag: answer.etag, ids }
}

async function listAsAnother(partner: SoakPartner) {
  const other = pick(partners)
  if (other === partner) return
  const headers = { Authorization: `Bearer ${partner.token}` }
  const answer = await send('another’s list', `/${other.shortName}/plans`, { headers })
  const isChanged = suspended.has(partner) || isRecent(partner, answer.startedAtMs)
  expectStatus(answer, isChanged ? [401, 403] : [403], answer.hadD1Fault)
}

async function listWithGarbage(partner: SoakPartner) {
  const { token = '' } = partner
  const other = token.at(-9) === 'A' ? 'B' : 'A'
  const headers = { Authorization: `Bearer ${token.slice(0, -9)}${other}${token.slice(-8)}` }
  const answer = await send('garbage token', `/${partner.shortName}/plans`, { headers })
  expectStatus(answer, [401], false)
}

interface SoakAnswer {
  what: string
  startedAtMs: number
  tookMs: number
  fault: Fault
  /** Whether D1 failed at a time that can show in this answer. A slow D1 does not fail. */
  hadD1Fault: boolean
  /** Whether KV failed at a time that can show in this answer. */
  hadKvFault: boolean
  status: number
  etag: string
  cacheStatus: string | null
  retryAfter: string | null
  body: Record<string, unknown>
}

async function send(
  what: string,
  path: string,
  init: { method?: string; headers: Record<string, string> },
): Promise<SoakAnswer> {
  const startedAtMs = Date.now()
  const wasFailing = isD1Failing()
  const wasKvFine = fault.kv === 'fine'
  const url = new URL(`/api/v3/partners${path}`, await service.getUrl(pick(workers)))
  // Random addresses, so that no rate limit applies.
  const address = `2001:db8:${Math.floor(Math.random() * 65_536).toString(16)}::1`
  const signal = AbortSignal.timeout(maxAnswerMs)
  const response = await fetch(url, { ...init, signal, headers: { ...init.headers, 'CF-Connecting-IP': address } })
  const text = await response.text()
  return {
    what,
    startedAtMs,
    tookMs: Date.now() - startedAtMs,
    fault,
    hadD1Fault: wasFailing || isD1Failing() || lastD1FaultMs > startedAtMs - graceMs,
    hadKvFault: !wasKvFine || fault.kv !== 'fine' || lastKvFaultMs > startedAtMs - graceMs,
    status: response.status,
    etag: response.headers.get('ETag') ?? '',
    cacheStatus: response.headers.get('Cache-Status'),
    retryAfter: response.headers.get('Retry-After'),
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  }
}

function isD1Failing(): boolean {
  return fault.d1 === 'error' || fault.d1 === 'hang'
}

function expectStatus(answer: SoakAnswer, allowed: readonly number[], mayBeUnavailable: boolean) {
  const { what, status, retryAfter } = answer
  const tally = `${what}: ${status}`
  counts.set(tally, (counts.get(tally) ?? 0) + 1)
  const isUnavailable = status === 503 && retryAfter === '5' && mayBeUnavailable
  if (!allowed.includes(status) && !isUnavailable) unexpected.push({ ...answer, allowed })
}

function idsIn(body: Record<string, unknown>): string {
  const { data } = body as { data: { plans: CatalogPlan[] } }
  return data.plans.map(({ id }) => id).join()
}

function isRecent(partner: SoakPartner, atMs: number): boolean {
  const change = changes.get(partner)
  return change !== undefined && isStale(change.atMs, atMs)
}

/** Whether a request at that time may show the state before the change. */
function isStale(changedAtMs: number, atMs: number): boolean {
  return atMs - changedAtMs < staleMs || fault.d1 !== 'fine' || atMs - lastD1FaultMs < graceMs
}

function listIds(country: string, filter: Partial<CatalogPlan>, isWithdrawn: boolean): string {
  const listed = plans.filter(
    (plan) =>
      plan.viewableIn.includes(country) &&
      Object.entries(filter).every(([field, value]) => Reflect.get(plan, field) === value) &&
      !(isWithdrawn && plan === withdrawal.plan),
  )
  return listed.map(({ id }) => id).join()
}

/** The demo catalog, with each plan in some of the countries and the first plan in all. */
async function makePlans(): Promise<CatalogPlan[]> {
  const demo = await readOrdinaryPlans()
  return demo
    .toSorted((a, b) => a.id - b.id)
    .map((plan, index) => ({
      ...plan,
      viewableIn: index === 0 ? countries : countries.filter((_, place) => (index >> place) % 2 === 1),
    }))
}

function basic(id: string, secret: string): { Authorization: string } {
  return { Authorization: `Basic ${btoa(`${id}:${secret}`)}` }
}

function pick<T>(values: readonly T[]): T {
  const value = values[Math.floor(Math.random() * values.length)]
  if (value === undefined) throw new Error('nothing to pick from')
  return value
}
