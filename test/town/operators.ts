// The operators, who run the functions of the command line over Cloudflare's API, whose answers get lost or come late; somebody who rewinds
// the database; and an hourly comparison of the database with a copy. The only file of the town that imports src/ops.
import { examplePlan } from '../../src/catalog/example-plan.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { parseKeyName } from '../../src/crypto/signing-keys.ts'
import { writeLastingRowsQuery } from '../../src/db/copy-queries.ts'
import { createOperatorDatabase } from '../../src/db/operator-database.ts'
import type { SecretReplacement } from '../../src/db/partner-changes.ts'
import { prepareImport } from '../../src/ops/core/catalog/catalog-import.ts'
import { readCatalogAt } from '../../src/ops/core/catalog/catalog-plans.ts'
import { checkDroppable, dropKey, rotateKeys, recordIfMissing } from '../../src/ops/core/keys/key-ring.ts'
import { isKeyInUse, recordReplacedKey, replaceLeakedKey } from '../../src/ops/core/keys/leaked-key.ts'
import { changePartner, replaceSecrets, type PartnerRequest } from '../../src/ops/core/partners/account-changes.ts'
import { createPartner } from '../../src/ops/core/partners/partner-accounts.ts'
import { prepareRedo, prepareUndo } from '../../src/ops/core/publications/publication-undo.ts'
import { approvePublication, cancelPublication, invalidateLists } from '../../src/ops/core/publications/publications.ts'
import { comparedTables, listLostColumns } from '../../src/ops/core/service/database-copy.ts'
import { UserError } from '../../src/ops/shared/user-error.ts'
import { CloudflareError } from '../../src/ops/store/failure.ts'
import { retry } from '../../src/ops/store/retry.ts'
import type { Store } from '../../src/ops/store/store.ts'
import type { WorkerSecrets } from '../../src/ops/store/worker-secrets.ts'
import type { D1World } from './d1-world.ts'
import type { Town } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import type { Partners } from './partners.ts'
import { createRandom } from './random.ts'
import { formatCommand, parseCommand, type Command, type Edit, type TownRecord } from './record.ts'
import type { Service } from './service.ts'
import { hourMs, minuteMs, secondMs, type Condition, type Weather } from './weather.ts'
import { closePlan, openPlan, publishChange, setFields, setViewable } from '../ops/support/publish-prepared.ts'

const countries = ['KE', 'UG', 'RW'] as const
const secretKinds = new Set(['rotate', 'replace-newest', 'replace-all', 'lockdown'])
const endingKinds = new Set(['replace-all', 'lockdown', 'end-tokens', 'suspend', 'end'])
const partnerKinds = [...secretKinds, ...endingKinds, 'rotate', 'set', 'resume'].filter((kind) => kind !== 'end')

/** Twenty plans with this text make a list of more than 512 KiB, which is sent in slices. */
const longText = '長'.repeat(10_000)

/** @param hasLong whether the list of one country is long, which makes the run slower. */
const makePlans = (hasLong: boolean) =>
  Array.from({ length: 38 }, (_, index): CatalogPlan => ({
    ...examplePlan,
    id: index + 1,
    identifier: `plan-${index + 1}`,
    category: examplePlan.category && { ...examplePlan.category, id: index % 3, name: `Category ${index % 3}` },
    fundType: index % 2 === 0 ? 'MONEY_MARKET' : 'EQUITY',
    currency: index % 5 === 0 ? 'USD' : 'KES',
    about: hasLong && index >= 18 ? longText : 'About',
    viewableIn: index >= 18 ? ['RW'] : ([['UG'], ['KE'], ['KE', 'UG']][index % 3] ?? []),
  }))

/** What becomes of a call. `lost`: it has its effect, without an answer. `late`: its effect comes after its caller has given up. */
type Fate = 'answered' | 'refused' | 'busy' | 'lost' | 'late' | 'never'
const fates: Record<Condition, Fate[]> = {
  fine: ['answered'],
  slow: ['answered'],
  flaky: ['answered', 'answered', 'answered', 'refused', 'busy', 'lost', 'late'],
  failing: ['refused'],
  hanging: ['late', 'never', 'never'],
}

const fail = (kind: 'unknown' | 'busy', message: string): never => {
  throw new CloudflareError(message, { kind })
}

type Attribution = { actor: string; command: string; note: null }
/** What a command does. */
type Work = (store: Store, by: Attribution, warn: (text: string) => void) => Promise<unknown>
/** What an operator means to do with a command. */
type Intent = Pick<Command, 'kind'> & Partial<Command>
type PlanRequest = Parameters<typeof openPlan>[2]
type PlanWork = (store: Store, request: PlanRequest) => Promise<unknown>
type PlanChange = [kind: string, field: string, to: unknown, work: PlanWork]
type Stores = { weather: Weather; d1: D1World; kv: KvWorld }
type World = Town & Stores & { service: Service; record: TownRecord; partners: Partners }

export function createOperators(world: World) {
  const { clock, weather, d1, kv, service, record, partners, journal, seed } = world
  const random = createRandom(`${seed} operators`)
  const caller = { path: 'api' as const, onFailure: () => {} }
  let lastCommand = 0
  let lastText = 0

  /** A call of Cloudflare's API, which may have its effect after its caller has given up. */
  async function callOnce<T>(part: 'primary' | 'kv', make: () => T | Promise<T>): Promise<T> {
    const condition = weather.conditionOf(part, 'api')
    // Once in a while a call is lost in fine weather, too.
    const fate = random.pick(fates[condition === 'fine' && random.chance(0.05) ? 'flaky' : condition])
    await clock.sleep(condition === 'slow' ? random.between(500, 8000) : random.between(30, 200))
    if (fate === 'refused') fail('unknown', 'Cloudflare answered 502.')
    if (fate === 'busy') fail('busy', 'Cloudflare answered 429: D1 is overloaded.')
    if (fate === 'late')
      clock.after(random.between(1, 90) * secondMs, () => void (async () => make())().catch(() => {}))
    if (fate === 'late' || fate === 'never') {
      await clock.sleep(minuteMs)
      fail('unknown', 'Can’t reach api.cloudflare.com: no answer within 60 s.')
    }
    const answer = await make()
    await clock.sleep(random.between(30, 200))
    return fate === 'lost' ? fail('unknown', 'Can’t reach api.cloudflare.com: ECONNRESET.') : answer
  }

  const call = <T>(part: 'primary' | 'kv', make: () => T | Promise<T>) =>
    retry(() => callOnce(part, make), { report: () => {} })
  const callKv = <T>(make: () => Promise<T>) =>
    call('kv', () => make().catch(({ message }: Error) => fail(message.includes('429') ? 'busy' : 'unknown', message)))

  const openStore = (needsApproval: boolean): Store => ({
    target: { remote: true, env: 'production' },
    // The HTTP API takes parameters as text.
    db: createOperatorDatabase(({ sql, params }) => call('primary', () => d1.query(sql, ...params.map(String)))),
    changes: { outcome: 'unchanged' },
    listKeys: (prefix) => callKv(() => kv.list(caller, prefix)),
    putKeys: async (names, metadata, lifetimeSeconds) => {
      for (const name of names) await callKv(() => kv.put(caller, name, metadata, lifetimeSeconds))
    },
    // The header Date, rounded up.
    askServerTimeMs: async () => Math.ceil(clock.nowMs() / secondMs) * secondMs,
    config: { PBKDF2_ITERATIONS: 1, ...(needsApproval && { CATALOG_APPROVAL: 'required' }) },
  })

  const secrets: WorkerSecrets = {
    list: async () => {
      const latest = Object.keys(service.state.secrets)
      const live = service.state.isolates.flatMap((isolate) => Object.keys(isolate.secrets))
      return { live: [...new Set([...live, ...latest])], latest }
    },
    checkEditable: async () => {},
    put: async (changes) => {
      await clock.sleep(random.between(2, 8) * secondMs)
      const next = Object.entries({ ...service.state.secrets, ...changes }).filter(([, value]) => value !== null)
      service.deploy(Object.fromEntries(next) as Record<string, string>)
    },
  }

  /** Runs a command, and compares what it says in the end with what it did. @returns whether it succeeded. */
  async function run(actor: string, intent: Intent, work: Work, needsApproval = false): Promise<boolean> {
    const command: Command = { commits: 0, ...intent, id: ++lastCommand, actor }
    const { id, kind, shortName: subject = 'catalog', graceSeconds } = command
    record.commands.set(id, command)
    const store = openStore(needsApproval)
    // A laptop's clock may be wrong by minutes.
    const skewMs = random.pick([0, 0, random.between(-5, 5) * minuteMs])
    const name = `command ${id} ${kind} ${subject}${graceSeconds === undefined ? '' : ` --grace ${graceSeconds}`}`
    const note = (text: string) => journal.note(`${actor}: ${name} ${text}`, subject)
    const attribution = { actor, command: formatCommand(command), note: null }
    const place = { clock: { skewMs }, isEnded: false }
    journal.count(`command ${kind}`)
    note(`begins on a laptop that is ${Math.round(skewMs / secondMs)} s ahead`)
    try {
      await clock.enter(place, () => work(store, attribution, (text) => note(`warns: ${text}`)))
      note('succeeded')
      return true
    } catch (thrown) {
      const error = thrown as Error
      const facts = `${name} failed (${store.changes.outcome}): ${error.stack}`
      note(`failed (${store.changes.outcome}): ${error.message}`)
      journal.count('commands that failed')
      const isKnown = [error, error.cause].some(
        (cause) => cause instanceof UserError || cause instanceof CloudflareError,
      )
      if (!isKnown && error.name !== 'StorageError') journal.report('a command meets no bug', facts, subject)
      const isWrong = store.changes.outcome === 'unchanged' && command.commits > 0
      if (isWrong) journal.report('a command says what it did', `${facts}\nIts change was made.`, subject)
      return false
    }
  }

  function create(actor: string, shortName: string, country: string): Promise<boolean> {
    const commandId = lastCommand + 1
    return run(actor, { kind: 'create', shortName, country }, async (store, by) => {
      partners.onSecret(await createPartner(store, { shortName, name: shortName, country }, by), commandId)
    })
  }

  function change(actor: string, shortName: string, wanted: Intent): Promise<boolean> {
    const { kind } = wanted
    // D1 fails, and callers hurry, more often when access ends.
    if (endingKinds.has(kind) && random.chance(0.3)) partners.hurry(shortName)
    if (endingKinds.has(kind) && random.chance(0.35)) {
      const [chance, condition] = [random.next(), random.pick<Condition>(['failing', 'hanging'])]
      const minutes =
        chance < 0.6 ? random.between(1, 10) : chance < 0.9 ? random.between(5, 40) : random.between(60, 150)
      clock.after(random.between(0, 150) * secondMs, () => weather.begin('d1', condition, minutes * minuteMs))
    }
    const commandId = lastCommand + 1
    return run(actor, { ...wanted, shortName }, async (store, attribution, warn) => {
      const by = { attribution, warn }
      if (!secretKinds.has(kind)) await changePartner(store, shortName, wanted as PartnerRequest, by)
      else
        partners.onSecret(
          (await replaceSecrets(store, shortName, wanted as SecretReplacement, by)).credentials,
          commandId,
        )
    })
  }

  /** Makes one to four changes of one partner, one soon after the other. */
  async function changePartners(actor: string): Promise<void> {
    const shortName = random.pick([...record.accounts.keys()])
    for (let step = random.below(4); step >= 0; step--) {
      const kind = random.pick(partnerKinds)
      const grace = kind === 'rotate' ? { graceSeconds: random.pick([600, 3600, 86_400]) } : {}
      const country = kind === 'set' ? { country: random.pick(countries) } : {}
      // Sometimes a colleague changes the same partner at the same time.
      if (random.chance(0.15))
        void change('dora', shortName, { kind: random.pick(['suspend', 'end-tokens', 'resume']) })
      await change(actor, shortName, { kind, ...grace, ...country })
      await clock.sleep(random.pick([random.between(1, 90) * secondMs, random.between(1, 15) * minuteMs]))
    }
    await clock.sleep(random.between(1, 20) * minuteMs)
    if (record.accounts.get(shortName)?.states.at(-1)?.isSuspended) await change(actor, shortName, { kind: 'resume' })
  }

  async function replacePartner(actor: string): Promise<void> {
    const open = [...record.accounts.values()].find(({ states }) => !states.at(-1)?.isEnded)
    if (open) await change(actor, open.shortName, { kind: 'end' })
    await create(actor, `partner-${record.accounts.size + 1}`, random.pick(countries))
  }

  async function changePlans(actor: string): Promise<void> {
    const plans = [...record.newestPlans().values()]
    // Time Travel may have gone back to before the first plan.
    if (plans.length === 0) return
    const { id: planId, identifier } = random.pick(plans)
    const minutes = Math.ceil(clock.nowMs() / minuteMs + random.between(1, 40))
    const dueAt = random.chance(0.35) ? minutes * 60 : undefined
    const [country, text] = [random.pick(countries), `Text ${++lastText}`]
    const field = random.pick(['name', 'hint', 'coolName', 'tenor'])
    const view =
      (isViewable: boolean): PlanWork =>
      (store, request) =>
        setViewable(store, identifier, { countries: [country], isViewable }, request)
    const set: PlanWork = (store, request) => setFields(store, identifier, [`${field}=${text}`], request)
    const [kind, changed, to, work] = random.pick<PlanChange>([
      ['plan-set', field, text, set],
      ['plan-set', field, text, set],
      ['offer', `viewableIn.${country}`, true, view(true)],
      ['withdraw', `viewableIn.${country}`, false, view(false)],
      ['plan-close', 'nonInvestableNote', text, (store, request) => closePlan(store, identifier, text, request)],
      ['plan-open', 'nonInvestableNote', null, (store, request) => openPlan(store, identifier, request)],
    ])
    const intent = { kind, edits: [{ planId, field: changed, to }] }
    await run(actor, intent, (store, by) => work(store, { attribution: by, dueAt }), random.chance(0.2))
  }

  /** Exports the catalog, works on the file for a while, and imports it. */
  async function importFile(actor: string): Promise<void> {
    let file: Awaited<ReturnType<typeof readCatalogAt>> | undefined
    await run(actor, { kind: 'export' }, async (store) => void (file = await readCatalogAt(store)))
    if (file === undefined) return
    await clock.sleep(random.around(8 * minuteMs))
    const edits: Edit[] = []
    const removed = file.plans.length > 0 && random.chance(0.2) ? random.pick(file.plans) : undefined
    const plans = file.plans.flatMap((plan) => {
      if (plan === removed) edits.push({ planId: plan.id, field: '', to: null })
      if (plan === removed || random.chance(0.9)) return plan === removed ? [] : plan
      const [field, to] = [random.pick(['name', 'hint', 'tenor']), `Text ${++lastText}`]
      edits.push({ planId: plan.id, field, to })
      return { ...plan, [field]: to }
    })
    if (random.chance(0.3)) {
      const id = 1000 + ++lastText
      const plan = { ...examplePlan, id, identifier: `plan-${id}`, category: null }
      const added = { ...plan, viewableIn: [random.pick(countries)] }
      plans.push(added)
      edits.push({ planId: id, field: '', to: added })
    }
    await run(actor, { kind: 'import', edits }, async (store, by) => {
      const prepared = await prepareImport(store, { ...file, plans }, { isPruning: removed !== undefined })
      return publishChange(store, prepared, { attribution: by })
    })
  }

  /** Takes back, makes again, approves or cancels what somebody published or staged. */
  async function decide(actor: string): Promise<void> {
    type Row = [id: number, state: string, text: string, author: string]
    const rows = d1.query<Row>(`
      select id, state, command, actor from publications where state <> 'staging' and id > 1 order by id desc limit 12`)
    if (rows.length === 0) return
    const [id, state, text, author] = random.pick(rows)
    const about = record.commands.get(parseCommand(text))
    const isThere = about?.edits?.every(({ planId }) => record.newestPlans().has(planId))
    const cancel = () => run(actor, { kind: 'cancel' }, (store, by) => cancelPublication(store, id, by))
    if (state === 'published') {
      await run(actor, { kind: 'undo', undoes: about }, async (store, by) =>
        publishChange(store, await prepareUndo(store, id), { attribution: by }),
      )
    } else if (state === 'waiting' && actor !== author && random.chance(0.8)) {
      await run(actor, { kind: 'approve' }, (store, by) => approvePublication(store, id, by))
    } else if (state === 'conflicted' && isThere && random.chance(0.7)) {
      const edits = about?.edits?.map((edit) => ({ ...edit, isForced: true })) ?? []
      await run(actor, { kind: 'redo', edits }, async (store, by) =>
        publishChange(store, await prepareRedo(store, id), { attribution: by }),
      )
      await cancel()
    } else if (state !== 'cancelled') await cancel()
  }

  async function changeKeys(actor: string): Promise<void> {
    const kids = Object.keys(service.state.secrets).flatMap((name) => parseKeyName(name) ?? [])
    const isLeaked = random.chance(0.4)
    const kid = isLeaked ? random.pick(kids) : (kids.toSorted()[0] ?? '')
    if (kids.length < 2 && !isLeaked) {
      await run(actor, { kind: 'keys-rotate' }, (store, by) => rotateKeys(secrets, store, by))
      return
    }
    await run(actor, { kind: 'keys-drop' }, async (store, by) => {
      if (!isLeaked) {
        await checkDroppable(secrets, store, kid)
        return dropKey(secrets, store, by, kid)
      }
      if (!(await isKeyInUse(secrets, store, kid))) return recordIfMissing(store, by, 'keys-drop', kid)
      return recordReplacedKey(store, by, { droppedKid: kid, newKid: await replaceLeakedKey(secrets, store, kid) })
    })
  }

  async function operate(actor: string): Promise<void> {
    const invalidate = () => run(actor, { kind: 'invalidate', edits: [] }, (store, by) => invalidateLists(store, by))
    for (;;) {
      await clock.sleep(random.around(12 * minuteMs))
      const chance = random.next()
      if (chance < 0.28) await changePartners(actor)
      else if (chance < 0.65) await changePlans(actor)
      else if (chance < 0.75) await importFile(actor)
      else if (chance < 0.96) await decide(actor)
      else await random.pick([invalidate, invalidate, replacePartner, changeKeys])(actor)
    }
  }

  /** Somebody rewinds the database. */
  async function travel(): Promise<void> {
    await clock.sleep(3 * hourMs)
    for (;;) {
      await clock.sleep(random.around(36 * hourMs))
      const backMs = random.pick([random.between(0.2, 5), random.between(5, 120), random.between(5, 120)]) * minuteMs
      journal.note(`Time Travel: the database is as it was ${Math.round(backMs / secondMs)} s ago`, 'world')
      journal.count('restores')
      record.restore(clock.nowMs() - backMs)
    }
  }

  /** Returns the rows that a copy of the database has and that no command deletes, by table and key. */
  function readLasting() {
    const entries = Object.entries(comparedTables).flatMap(([table, { key }]) => {
      const columns = d1.query<[string]>('select name from pragma_table_info(?)', table).flat()
      return d1.query(writeLastingRowsQuery(table)).map((values) => {
        const row = Object.fromEntries(columns.map((column, index) => [column, values[index]]))
        return [[table, ...key.map((column) => row[column])].join(' '), { table, row }] as const
      })
    })
    return new Map(entries)
  }

  /** Every hour, compares the database with its state of an hour ago, as the command `compare` does every night. */
  async function compare(): Promise<void> {
    for (;;) {
      const [fromMs, before] = [clock.nowMs(), readLasting()]
      await clock.sleep(hourMs)
      if (d1.restoredAtMs() >= fromMs) continue
      const now = readLasting()
      for (const [key, { table, row }] of before) {
        const { key: columns = [], successorSql } = comparedTables[table] ?? {}
        const values = columns.map((column) => row[column])
        if (!now.has(key) && successorSql && d1.query(successorSql, ...values).length > 0) continue
        const lost = listLostColumns(table, row, now.get(key)?.row ?? {})
        if (lost.length > 0) journal.report('the record never changes', `${key} has lost ${lost.join(', ')}`, 'catalog')
      }
    }
  }

  return {
    /** Makes the catalog and the partners with which the town begins. */
    async settle(): Promise<void> {
      const plans = makePlans(random.chance(0.25))
      const edits = plans.map((plan) => ({ planId: plan.id, field: '', to: plan }))
      const importAll: Work = async (store, by) =>
        publishChange(store, await prepareImport(store, { plans }), { attribution: by })
      while (record.newestPlans().size === 0) await run('amina', { kind: 'import', edits }, importAll)
      for (let index = 1; index <= 7; index++) await create('amina', `partner-${index}`, countries[index % 3] ?? 'KE')
    },
    start: () => {
      for (const actor of ['amina', 'Brian', 'carol']) void operate(actor)
      void travel()
      void compare()
    },
  }
}
