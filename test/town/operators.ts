// The operators: they run the functions of the command line over Cloudflare's API, whose answers get lost or come late. The only
// file of the town that imports src/ops.
import { examplePlan } from '../../src/catalog/example-plan.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { generateKey, formatKeyName, parseKeyName } from '../../src/crypto/signing-keys.ts'
import { createDatabase } from '../../src/db/database.ts'
import { prepareImport } from '../../src/ops/core/catalog-import.ts'
import { readCatalogFile } from '../../src/ops/core/catalog-plans.ts'
import { checkDroppable, dropKey, rotateKeys } from '../../src/ops/core/key-ring.ts'
import {
  changePartner,
  createPartner,
  type Credentials,
  type PartnerRequest,
} from '../../src/ops/core/partner-accounts.ts'
import { closePlan, openPlan, setFields, setViewable } from '../../src/ops/core/plan-changes.ts'
import { prepareRedo, prepareUndo } from '../../src/ops/core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  invalidateLists,
  publishChange,
} from '../../src/ops/core/publications.ts'
import { UserError } from '../../src/ops/shared/user-error.ts'
import { CloudflareError } from '../../src/ops/store/failure.ts'
import { retry } from '../../src/ops/store/retry.ts'
import type { Store } from '../../src/ops/store/store.ts'
import type { WorkerSecrets } from '../../src/ops/store/worker-secrets.ts'
import type { Clock, Place } from './clock.ts'
import type { D1World } from './d1-world.ts'
import type { Journal } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import { createRandom } from './random.ts'
import { formatCommand, type Command, type Edit, type TownRecord } from './record.ts'
import type { Service } from './service.ts'
import type { Condition, Weather } from './weather.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const dayMs = 24 * 60 * minuteMs
const countries = ['KE', 'UG', 'RW'] as const
const apiDeadlineMs = 60_000
/** Text that makes twelve plans a list of more than 512 KiB, which is sent in slices. */
const longText = '長'.repeat(10_000)

export const initialPlans: CatalogPlan[] = Array.from({ length: 30 }, (_, index) => {
  const isLong = index >= 18
  const viewableIn = isLong ? ['RW'] : countries.filter((_country, place) => (index >> place) % 2 === 0 && place < 2)
  const { category } = examplePlan
  return {
    ...examplePlan,
    id: index + 1,
    identifier: `plan-${index + 1}`,
    category: category && { ...category, id: index % 3, name: `Category ${index % 3}` },
    fundType: index % 2 ? 'EQUITY' : 'MONEY_MARKET',
    currency: index % 5 ? 'KES' : 'USD',
    about: isLong ? longText : 'About',
    viewableIn,
  }
})

interface World {
  clock: Clock
  weather: Weather
  d1: D1World
  kv: KvWorld
  service: Service
  record: TownRecord
  journal: Journal
  seed: string
  /** Hears of a new secret as soon as it is shown. */
  onSecret: (made: Credentials, commandId: number) => void
}

export type Operators = ReturnType<typeof createOperators>

export function createOperators({ clock, weather, d1, kv, service, record, journal, seed, onSecret }: World) {
  const random = createRandom(`${seed} operators`)
  let lastCommand = 0

  /** Makes a call of Cloudflare's API, with one statement or one change of a key. */
  async function callApi<T>(part: 'd1' | 'kv', run: () => T | Promise<T>): Promise<T> {
    const fates: Record<Condition, string[]> = {
      fine: [...Array.from({ length: 60 }, () => 'answered'), 'refused', 'lost', 'busy'],
      slow: ['answered'],
      flaky: ['answered', 'answered', 'answered', 'refused', 'lost', 'late', 'busy'],
      failing: ['refused'],
      hanging: ['late', 'never', 'never'],
    }
    const condition = weather.conditionOf(part === 'd1' ? 'primary' : part, 'api')
    const fate = random.pick(fates[condition])
    await clock.sleep(condition === 'slow' ? random.between(500, 8000) : random.between(30, 200))
    if (fate === 'busy') throw new CloudflareError('Cloudflare answered 429: D1 is overloaded.', { kind: 'busy' })
    if (fate === 'refused') throw new CloudflareError('Cloudflare answered 502: bad gateway.', { kind: 'unknown' })
    if (fate === 'late') {
      // It takes effect some time after its caller has given up.
      const lateMs = random.between(1, 90) * secondMs
      clock.after(lateMs, () => void Promise.resolve(run()).catch(() => {}))
    }
    if (fate === 'late' || fate === 'never') {
      await clock.sleep(apiDeadlineMs)
      throw new CloudflareError('Can’t reach api.cloudflare.com: no answer within 60 s.', { kind: 'unknown' })
    }
    const answer = await run()
    await clock.sleep(random.between(30, 200))
    if (fate === 'lost') throw new CloudflareError('Can’t reach api.cloudflare.com: ECONNRESET.', { kind: 'unknown' })
    return answer
  }

  function openStore(needsApproval: boolean): Store {
    const caller = { path: 'api' as const, onFailure: () => {} }
    const send = <T>(part: 'd1' | 'kv', run: () => T | Promise<T>) =>
      retry(() => callApi(part, run), { report: () => {} })
    return {
      target: { remote: true, env: 'production' },
      db: createDatabase(<Row extends unknown[]>({ sql, params }: { sql: string; params: unknown[] }) =>
        // The HTTP API takes parameters as text.
        send('d1', () => d1.query<Row>(sql, ...params.map(String))),
      ),
      changes: { outcome: 'unchanged' },
      listKeys: (prefix) => send('kv', () => kv.api.list(caller, prefix).catch(toCloudflareError)),
      putKeys: async (names, metadata, lifetimeSeconds) => {
        for (const name of names)
          await send('kv', () => kv.api.put(caller, name, metadata, lifetimeSeconds).catch(toCloudflareError))
      },
      deleteKey: (name) => send('kv', () => kv.api.remove(caller, name).catch(toCloudflareError)),
      config: { PBKDF2_ITERATIONS: 1, ...(needsApproval && { CATALOG_APPROVAL: 'required' }) },
    }
  }

  const secrets: WorkerSecrets = {
    list: async () => {
      await clock.sleep(random.between(100, 500))
      const latest = Object.keys(service.state.secrets)
      const live = service.state.isolates.flatMap((isolate) => Object.keys(isolate.secrets))
      return { live: [...new Set([...live, ...latest])], latest }
    },
    checkEditable: async () => {},
    put: async (changes) => {
      await clock.sleep(random.between(2, 8) * secondMs)
      if (random.chance(0.05))
        throw new UserError('The secrets of the Worker could not be changed: wrangler gave no reason.')
      const next = Object.entries({ ...service.state.secrets, ...changes })
      service.deploy(Object.fromEntries(next.filter((entry): entry is [string, string] => entry[1] !== null)))
    },
  }

  /** Runs a command as an operator, and compares what it says in the end with what it did. */
  async function run(
    actor: string,
    intent: Omit<Command, 'id' | 'actor' | 'commits'>,
    work: (
      store: Store,
      attribution: { actor: string; command: string; note: null },
      warn: (text: string) => void,
    ) => Promise<unknown>,
    needsApproval = false,
  ): Promise<boolean> {
    const command: Command = { ...intent, id: ++lastCommand, actor, commits: 0 }
    record.commands.set(command.id, command)
    // A laptop's clock may be wrong by minutes.
    const place: Place = {
      clock: { skewMs: random.pick([0, 0, random.between(-300, 300) * secondMs]) },
      isEnded: false,
    }
    const store = openStore(needsApproval)
    const subjects = [command.shortName ?? 'catalog']
    const what = `${actor}: command ${command.id} ${command.kind} ${command.shortName ?? ''}${command.graceSeconds === undefined ? '' : ` --grace ${command.graceSeconds} s`}`
    journal.note(
      `${what} begins${place.clock.skewMs === 0 ? '' : `, on a laptop that is ${Math.round(place.clock.skewMs / secondMs)} s ahead`}`,
      ...subjects,
    )
    journal.count(`command ${command.kind}`)
    const warn = (text: string) => journal.note(`${what} warns: ${text}`, ...subjects)
    try {
      await clock.enter(place, () => work(store, { actor, command: formatCommand(command), note: null }, warn))
      journal.note(`${what} succeeded`, ...subjects)
      return true
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const { outcome } = store.changes
      journal.note(`${what} failed (${outcome}): ${error.message}`, ...subjects)
      journal.count('commands that failed')
      const isExpected =
        error instanceof UserError ||
        error instanceof CloudflareError ||
        error.name === 'StorageError' ||
        error.cause instanceof CloudflareError
      if (!isExpected) journal.report('a command meets no bug', `${what}: ${error.stack}`, ...subjects)
      if (outcome === 'unchanged' && command.commits > 0) {
        journal.report(
          'a command says what it did',
          `${what} failed with ‘${error.message}’, and outcome ${outcome}, but its change was made`,
          ...subjects,
        )
      }
      return false
    }
  }

  const show = (commandId: number) => (made: Credentials) => onSecret(made, commandId)

  async function create(actor: string, shortName: string, country: string): Promise<void> {
    const id = lastCommand + 1
    await run(actor, { kind: 'create', shortName, country }, (store, attribution) =>
      createPartner(store, { shortName, name: shortName, country }, attribution, show(id)),
    )
  }

  type Change =
    | { kind: 'rotate'; graceSeconds: number }
    | { kind: Exclude<PartnerRequest['kind'], 'rotate' | 'set'> }
    | { kind: 'set'; country: string }

  async function change(actor: string, shortName: string, wanted: Change): Promise<boolean> {
    const id = lastCommand + 1
    const request = (
      ['rotate', 'replace-newest', 'lockdown'].includes(wanted.kind) ? { ...wanted, show: show(id) } : wanted
    ) as PartnerRequest
    const endsAccess =
      ['suspend', 'lockdown', 'end-tokens', 'close'].includes(wanted.kind) ||
      (wanted.kind === 'rotate' && wanted.graceSeconds === 0)
    // D1 likes to fail when it matters.
    if (endsAccess && random.chance(0.35)) {
      const forMs = random.pick([random.between(1, 10), random.between(5, 40), random.between(60, 150)]) * minuteMs
      clock.after(random.between(0, 150) * secondMs, () =>
        weather.begin('d1', random.pick(['failing', 'hanging']), forMs),
      )
    }
    return run(actor, { ...wanted, shortName }, (store, attribution, warn) =>
      changePartner(store, shortName, request, { attribution, warn }),
    )
  }

  /** Some changes of one partner, one soon after the other. */
  async function changeSomePartner(actor: string): Promise<void> {
    const shortName = random.pick([...record.accounts.keys()])
    const isSuspended = () => record.accounts.get(shortName)?.states.at(-1)?.isSuspended ?? false
    const steps = 1 + random.below(4)
    for (let step = 0; step < steps; step++) {
      const wanted = random.pick<() => Change>([
        () => ({ kind: 'suspend' }),
        () => ({ kind: 'lockdown' }),
        () => ({ kind: 'lockdown' }),
        () => ({ kind: 'end-tokens' }),
        () => ({ kind: 'rotate', graceSeconds: random.pick([0, 600, 3600, 86_400]) }),
        () => ({ kind: 'rotate', graceSeconds: random.pick([0, 86_400]) }),
        () => ({ kind: 'replace-newest' }),
        () => ({ kind: 'set', country: random.pick(countries) }),
        () => ({ kind: 'resume' }),
      ])()
      await change(actor, shortName, wanted)
      await clock.sleep(random.pick([random.between(1, 90) * secondMs, random.between(1, 15) * minuteMs]))
    }
    await clock.sleep(random.between(1, 20) * minuteMs)
    for (let attempt = 0; isSuspended() && attempt < 3; attempt++) {
      if (await change(actor, shortName, { kind: 'resume' })) break
      await clock.sleep(10 * minuteMs)
    }
  }

  async function onboard(actor: string): Promise<void> {
    const [oldest] = [...record.accounts.values()].filter(({ states }) => !states.at(-1)?.isClosed)
    if (oldest) await change(actor, oldest.shortName, { kind: 'close' })
    await create(actor, `partner-${record.accounts.size + 1}`, random.pick(countries))
  }

  let texts = 0
  const newText = () => `Text ${++texts}`
  const pickPlan = () => random.pick([...(record.versions.at(-1)?.plans.values() ?? [])])

  async function changeSomePlan(actor: string): Promise<void> {
    const { id: planId, identifier } = pickPlan()
    const needsApproval = random.chance(0.2)
    const dueAtSeconds = random.chance(0.35)
      ? Math.ceil(clock.nowMs() / minuteMs + random.between(1, 40)) * 60
      : undefined
    const country = random.pick(countries)
    const field = random.pick(['name', 'hint', 'coolName', 'tenor'])
    const text = newText()
    const only = (edit: Omit<Edit, 'planId'>) => [{ planId, ...edit }]
    const later = { dueAtSeconds }
    const [kind, edits, work] = random.pick([
      [
        'set',
        only({ field, to: text }),
        (store, request) => setFields(store, identifier, [`${field}=${text}`], request),
      ],
      [
        'set',
        only({ field, to: text }),
        (store, request) => setFields(store, identifier, [`${field}=${text}`], request),
      ],
      [
        'offer',
        only({ field: `viewableIn.${country}`, to: true }),
        (store, request) => setViewable(store, identifier, { countries: [country], isViewable: true }, request),
      ],
      [
        'withdraw',
        only({ field: `viewableIn.${country}`, to: false }),
        (store, request) => setViewable(store, identifier, { countries: [country], isViewable: false }, request),
      ],
      [
        'close-plan',
        only({ field: 'nonInvestableNote', to: text }),
        (store, request) => closePlan(store, identifier, text, request),
      ],
      [
        'open-plan',
        only({ field: 'nonInvestableNote', to: null }),
        (store, request) => openPlan(store, identifier, request),
      ],
    ] as [string, Edit[], (store: Store, request: Parameters<typeof setFields>[3]) => Promise<unknown>][])
    await run(
      actor,
      { kind, edits, ...later },
      (store, attribution) => work(store, { attribution, dueAt: dueAtSeconds }),
      needsApproval,
    )
  }

  /** Exports the catalog, works on the file for a while, and imports it. */
  async function importSomeFile(actor: string): Promise<void> {
    let file: Awaited<ReturnType<typeof readCatalogFile>> | undefined
    await run(actor, { kind: 'export' }, async (store) => void (file = await readCatalogFile(store)))
    if (file === undefined) return
    await clock.sleep(random.around(8 * minuteMs))
    const edits: Edit[] = []
    const changed = file.plans.map((plan) => {
      if (!random.chance(0.1)) return plan
      const [field, to] = [random.pick(['name', 'hint', 'tenor'] as const), newText()]
      edits.push({ planId: plan.id, field, to })
      return { ...plan, [field]: to }
    })
    const removed = random.chance(0.2) ? random.pick(changed) : undefined
    const plans = changed.filter((plan) => plan !== removed)
    if (removed)
      edits.splice(0, edits.length, ...edits.filter(({ planId }) => planId !== removed.id), {
        planId: removed.id,
        field: '',
        to: null,
      })
    if (random.chance(0.3)) {
      const id = 1000 + ++texts
      const added = {
        ...examplePlan,
        id,
        identifier: `plan-${id}`,
        category: null,
        viewableIn: [random.pick(countries)],
      }
      plans.push(added)
      edits.push({ planId: id, field: '', to: added })
    }
    const { origin } = file
    await run(actor, { kind: 'import', edits }, async (store, attribution) =>
      publishChange(
        store,
        await prepareImport(store, { plans, ...(origin && { origin }) }, { isPruning: removed !== undefined }),
        { attribution },
      ),
    )
  }

  /** Takes back, makes again, approves or cancels what somebody published or staged. */
  async function decide(actor: string): Promise<void> {
    const rows = d1.query<[id: number, state: string, text: string, author: string]>(
      `select id, state, command, actor from publications where state <> 'staging' order by id desc limit 12`,
    )
    if (rows.length === 0) return
    const [id, state, text, author] = random.pick(rows)
    const about = record.commands.get(Number(/^town (\d+)/.exec(text)?.[1]))
    if (about === undefined) return
    if (state === 'published') {
      if (about.applied === undefined) return
      await run(actor, { kind: 'undo', undoes: about }, async (store, attribution) =>
        publishChange(store, await prepareUndo(store, id), { attribution, undoneId: id }),
      )
    } else if (state === 'conflicted') {
      const edits = about.edits?.map((edit) => ({ ...edit, isForced: true })) ?? []
      const isDone = about.undoes === undefined && random.chance(0.7)
      if (isDone) {
        await run(actor, { kind: 'redo', edits }, async (store, attribution) =>
          publishChange(store, await prepareRedo(store, id), { attribution }),
        )
      }
      await run(actor, { kind: 'cancel' }, (store, attribution) => cancelPublication(store, id, attribution))
    } else if (state === 'waiting' && actor !== author && random.chance(0.8)) {
      await run(actor, { kind: 'approve' }, (store, attribution) => approvePublication(store, id, attribution))
    } else if (state !== 'cancelled' && state !== 'replaced') {
      await run(actor, { kind: 'cancel' }, (store, attribution) => cancelPublication(store, id, attribution))
    }
  }

  async function changeKeys(actor: string): Promise<void> {
    const kids = Object.keys(service.state.secrets)
      .flatMap((name) => parseKeyName(name) ?? [])
      .toSorted()
    const [oldest] = kids
    const isLeaked = random.chance(0.4)
    if (oldest === undefined) return
    if (kids.length < 2 && !isLeaked) {
      await run(actor, { kind: 'keys-rotate' }, (store, attribution) => rotateKeys(secrets, store, attribution))
      return
    }
    const kid = isLeaked ? random.pick(kids) : oldest
    await run(actor, { kind: 'keys-drop' }, async (store, attribution) => {
      await checkDroppable(secrets, store, kid, isLeaked)
      await dropKey(secrets, store, attribution, kid, isLeaked)
    })
  }

  async function work(actor: string): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(12 * minuteMs))
      const act = random.pick([
        ...Array.from({ length: 6 }, () => changeSomePartner),
        ...Array.from({ length: 8 }, () => changeSomePlan),
        ...Array.from({ length: 2 }, () => importSomeFile),
        ...Array.from({ length: 5 }, () => decide),
      ])
      await act(actor)
      if (random.chance(0.01)) await onboard(actor)
      if (random.chance(0.01)) await changeKeys(actor)
      if (random.chance(0.02)) {
        await run(actor, { kind: 'invalidate', edits: [] }, (store, attribution) => invalidateLists(store, attribution))
      }
    }
  }

  /** Somebody rewinds the database, about every second day. */
  async function travel(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(2 * dayMs))
      const backMs = random.pick([random.between(10, 300) * secondMs, random.between(5, 120) * minuteMs])
      journal.note(`Time Travel: the database is as it was ${Math.round(backMs / secondMs)} s ago`, 'world')
      journal.count('restores')
      record.restore(clock.nowMs() - backMs)
    }
  }

  return {
    create,
    importInitialCatalog: () =>
      run(
        'amina',
        { kind: 'import', edits: initialPlans.map((plan) => ({ planId: plan.id, field: '', to: plan })) },
        async (store, attribution) =>
          publishChange(store, await prepareImport(store, { plans: [...initialPlans] }), { attribution }),
      ),
    start: () => {
      for (const actor of ['amina', 'Brian', 'carol']) void work(actor)
      void travel()
    },
  }
}

export const makeSecrets = (kid: string) => ({ [formatKeyName(kid)]: generateKey() })

function toCloudflareError(error: unknown): never {
  throw new CloudflareError(error instanceof Error ? error.message : 'KV failed.', { kind: 'unknown' })
}
