// What every store promises, tried on the local state, while another program has it open, on a deployed environment, and on the
// store with which tests run commands; and every statement of src/db on each of them.
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { sql, type SQL } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { examplePlan } from '../../../src/catalog/example-plan.ts'
import { storePlan } from '../../../src/catalog/plan-document.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  selectCatalog,
  selectCatalogAt,
  selectCatalogOrigin,
  selectCatalogPlan,
  selectHighestPlanId,
  selectRecordedPlanIds,
  selectRevisionUpTo,
  selectSharing,
  selectSizeWithout,
  selectSummaries,
} from '../../../src/db/catalog-queries.ts'
import { selectPartnerCheck } from '../../../src/db/client-queries.ts'
import { readTable, selectFingerprint, selectSchema } from '../../../src/db/copy-queries.ts'
import type { OperatorDatabase } from '../../../src/db/operator-database.ts'
import { countListedPlans, selectMigrations } from '../../../src/db/health-queries.ts'
import { deleteLeftovers } from '../../../src/db/leftovers.ts'
import {
  insertPartnerChange,
  insertNewPartner,
  findChange,
  recordKeyChange,
  setContact,
} from '../../../src/db/partner-changes.ts'
import {
  selectKeyEntries,
  selectPartnerEntries,
  selectNowSeconds,
  selectPartner,
  selectPartners,
  selectStoredSecrets,
} from '../../../src/db/partner-queries.ts'
import { selectPlanList } from '../../../src/db/plan-queries.ts'
import {
  selectChanges,
  selectLatest,
  selectPublication,
  selectPublications,
} from '../../../src/db/publication-queries.ts'
import { approveForLater, endAsCancelled, releasePublication } from '../../../src/db/publication-states.ts'
import {
  type PublishMode,
  endAsConflicted,
  findConflicts,
  markSuperseded,
  publish,
  publishPending,
  selectDue,
} from '../../../src/db/publish.ts'
import { partnerContacts } from '../../../src/db/schema.ts'
import { deleteAbandoned, hashStoredPlans, type NewPublication } from '../../../src/db/stage-publication.ts'
import { describeMigration, type Target } from '../../../src/ops/shared/target.ts'
import { isCausedBy } from '../../../src/ops/store/failure.ts'
import { withLocalStore } from '../../../src/ops/store/local-store.ts'
import { withRemoteStore } from '../../../src/ops/store/remote-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makeRequest } from '../../support/insert-partner.ts'
import { makePlan } from '../../support/make-plan.ts'
import { stageChanges } from '../../support/publish-plans.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { listWrites, openTextDatabase, type Run } from '../../support/text-database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { migrate, useLocalBindings } from '../support/local-bindings.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { emptyDatabase, listKeysAfter } from '../support/test-database.ts'

const persistTo = await createFolder(afterAll)
const bindings = {
  local: useLocalBindings({ persistTo }),
  remote: useLocalBindings(),
  memory: useMemoryBindings(),
}

type Mode = 'once' | 'twice' | 'answer lost'
let mode: Mode = 'once'

/** A write arrives twice, also because its answer got lost: then, the second answer is the one that counts. */
const deliver: Run = async (call, statement) => {
  if (mode === 'once' || listWrites(statement).length === 0) return call()
  const answers = [await call(), await call()] as const
  return answers[mode === 'twice' ? 0 : 1]
}

/** The server of Cloudflare's API calls these methods. */
function interceptDatabase(d1: D1Database): D1Database {
  const prepare = (statement: string) => ({
    bind: (...params: unknown[]) => ({
      raw: (options: { columnNames: true }) =>
        deliver(
          () =>
            d1
              .prepare(statement)
              .bind(...params)
              .raw(options),
          statement,
        ),
    }),
  })
  return { prepare } as never
}

useFakeCloudflare(() => ({ ...bindings.remote(), DB: interceptDatabase(bindings.remote().DB) }))
const targets: Record<'local' | 'remote', Target> = {
  local: { persistTo },
  remote: { remote: true, env: 'staging' },
}
const withStore = <T>(target: Target, work: (store: Store) => Promise<T>) =>
  target.remote ? withRemoteStore(target, work) : withLocalStore(target, work)
const errorsBeforeMigration = new Map<Target, unknown>()

beforeAll(async () => {
  for (const kind of ['local', 'remote'] as const) {
    const { DB } = bindings[kind]()
    await DB.prepare('select 1').run()
    const error = await withStore(targets[kind], ({ db }) => selectPartners(db)).catch((reason: unknown) => reason)
    errorsBeforeMigration.set(targets[kind], error)
    await migrate(DB)
  }
})

describe.each(Object.entries(targets))('a command on a %s store', (_, target) => {
  test('refuses a database that is not migrated, with the command that migrates it', () => {
    const error = String(errorsBeforeMigration.get(target))
    expect(error).toMatch(/^UserError: .* is not migrated\. Run: /)
    expect(error).toContain(describeMigration(target))
  })

  const contact = 'hidden'.repeat(40)
  test.each<[string, (db: OperatorDatabase) => Promise<unknown>]>([
    ['SQL', (db) => db.run(sql`insert into partner_contacts values ('x', ${contact})`)],
    ['the query builder', (db) => db.insert(partnerContacts).values({ shortName: 'x', contact })],
  ])('gets no parameters of a failed query with an error, by %s', async (_by, insert) => {
    const error: unknown = await withStore(target, ({ db }) => insert(db)).catch((reason: unknown) => reason)
    expect(inspect(error)).toContain('CHECK constraint failed')
    expect(inspect(error)).not.toContain('hidden')
  })
})

describe.each(['local', 'remote', 'memory'] as const)('a %s store', (kind) => {
  let opened: Store | undefined
  const end = Promise.withResolvers<void>()
  /** In one store, because the local one takes a second to open. */
  const open = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    if (opened === undefined) throw new Error('the store is not open yet')
    return work(opened)
  }
  const insert = (partner: string) => sql`insert into partner_contacts values (${partner}, 'Wäk ☕')`
  const catchError = (work: (store: Store) => Promise<unknown>) => open(work).catch((error: unknown) => error)
  beforeAll(async () => {
    if (kind === 'memory') {
      opened = openBindingStore(bindings.memory(), { persistTo })
      return
    }
    const started = Promise.withResolvers<void>()
    withStore(targets[kind], async (store) => {
      opened = store
      started.resolve()
      await end.promise
    }).catch(started.reject)
    await started.promise
  })
  afterAll(() => end.resolve())
  beforeEach(() => emptyDatabase(bindings[kind]()))
  afterEach(() => void (mode = 'once'))

  test('reads text, numbers and nulls as D1 has them', async () => {
    const rows = await open(({ db }) =>
      db.values(sql`select 'Wäk ☕''"', 1, -0.5, 9007199254740991, null, typeof(cast(${7} as integer))`),
    )
    expect(rows).toEqual([['Wäk ☕\'"', 1, -0.5, Number.MAX_SAFE_INTEGER, null, 'integer']])
    expect(await open(({ db }) => db.values(sql`select 1 where false`))).toEqual([])
    expect(Math.abs((await open(({ db }) => selectNowSeconds(db))) - Date.now() / 1000)).toBeLessThan(60)
  })

  test('a statement takes effect, and returns its rows', async () => {
    await open(async ({ db }) => {
      await db.run(insert('one'))
      const update = sql`update partner_contacts set contact = 'New'`
      expect(await db.values(sql`${update} returning partner, 7`)).toEqual([['one', 7]])
      expect(await db.values(sql`${update} where false returning partner`)).toEqual([])
      expect(await db.values(sql`select contact from partner_contacts`)).toEqual([['New']])
    })
  })

  test('nothing of a statement that fails takes effect, and the error says why', async () => {
    const twice = await catchError(({ db }) => db.run(sql`${insert('one')}, ('two', 'Two'), ('one', 'Twice')`))
    expect(isCausedBy(twice, 'UNIQUE constraint failed: partner_contacts.partner')).toBe(true)
    expect(await open(({ db }) => db.values(sql`select * from partner_contacts`))).toEqual([])
  })

  test('a statement takes 100 parameters, and no more', async () => {
    const list = (count: number) => sql.join(Array<SQL>(count).fill(sql`${'x'}`), sql`, `)
    expect(await open(({ db }) => db.values(sql`select 1 where 'x' in (${list(100)})`))).toEqual([[1]])
    const error = await catchError(({ db }) => db.values(sql`select 1 where 'x' in (${list(101)})`))
    expect(isCausedBy(error, 'too many SQL variables')).toBe(true)
  })

  test('a parameter has at most 2,000,000 bytes, except in the local runtime', async () => {
    const read = (bytes: number) => catchError(({ db }) => db.values(sql`select 1 where ${'x'.repeat(bytes)} <> ''`))
    expect(await read(2_000_000)).toEqual([[1]])
    const larger = await read(2_000_001)
    expect(isCausedBy(larger, 'string or blob too big')).toBe(kind !== 'local')
  })

  test('a publication of plans with large texts is staged whole', async () => {
    const about = '☕'.repeat(10_000)
    const changes = Array.from({ length: 150 }, (_, planId) => ({ planId, after: makePlan({ id: planId, about }) }))
    await open(({ db }) => stageChanges(db, changes))
    expect(await open(({ db }) => db.values(sql`select count(*) from plan_versions`))).toEqual([[150]])
  })

  test('lists the keys of the cache on every page, with their metadata, and deletes one', async () => {
    const { CATALOG_CACHE } = bindings[kind]()
    const names = Array.from({ length: 25 }, (_, index) => `some:${String(index).padStart(2, '0')}`)
    for (const name of names) await CATALOG_CACHE.put(name, 'x', { metadata: { name } })
    const left = await listKeysAfter(CATALOG_CACHE, ['other'], async () => {
      const keys = await open(({ listKeys }) => listKeys('some:'))
      expect(keys.map(({ name, metadata }) => ({ name, metadata }))).toEqual(
        names.map((name) => ({ name, metadata: { name } })),
      )
      for (const name of [...names, 'some:absent']) await open(({ deleteKey }) => deleteKey(name))
    })
    expect(left).toEqual(['other'])
  })

  // The HTTP API sends every number as text.
  // The last one repeats each write after it took effect. The runtime is slow, so the others run there every night.
  const arrivals: Mode[] = kind === 'memory' || inject('isSlow') ? ['once', 'twice', 'answer lost'] : ['answer lost']
  test.each(arrivals)('every statement of src/db, each write %s', async (arrival) => {
    const { DB } = bindings[kind]()
    mode = arrival
    const run = (db: OperatorDatabase) => runEveryStatement(db, DB)
    const recorded = kind === 'remote' ? open(({ db }) => run(db)) : run(openTextDatabase(DB, deliver))
    expect(await recorded).toEqual(['create', 'rotate', 'keys-rotate'])
  })
})

/**
 * Makes every change, finds out the outcome as after a lost answer, and reads everything back.
 * @param d1 as the Worker has it. @returns the kinds of the recorded changes.
 */
async function runEveryStatement(db: OperatorDatabase, d1: D1Database): Promise<unknown[]> {
  const decision = (publicationId: number) => ({ publicationId, actor: 'brian', note: null })
  const publishAs = async (publishMode: PublishMode, id: number) => {
    await (publishMode === 'now' ? publish(db, decision(id), 'now') : publishPending(db, decision(id), publishMode))
    const published = await selectLatest(db, id)
    if (published?.revision == null) throw new Error(`Publication ${id} was not published`)
    return { id: published.id, revision: published.revision }
  }
  const propose = (planId: number, changed: Partial<CatalogPlan>, overrides: Partial<NewPublication> = {}) =>
    stageChanges(db, [{ planId, after: makePlan({ id: planId, ...changed }) }], overrides)
  const readState = async (id: number) => (await selectPublication(db, id))?.state

  // Publications.
  const { revision: first } = await publishAs('now', await propose(1, {}, { command: 'catalog import plans.json' }))
  const waiting = await propose(1, { name: 'Approved' }, { needsApproval: true })
  await releasePublication(db, waiting, 'waiting')
  await publishAs('approve', waiting)
  const later = await propose(2, {}, { needsApproval: true, dueAt: 4e9 })
  await releasePublication(db, later, 'waiting')
  await approveForLater(db, decision(later))
  expect(await readState(later)).toBe('scheduled')
  expect(await endAsConflicted(db, decision(later), 'a plan was changed')).toBe(mode !== 'answer lost')
  await endAsCancelled(db, decision(later))
  const overtaken = await propose(1, { name: 'Mine' }, { dueAt: 60 })
  await releasePublication(db, overtaken, 'scheduled')
  expect(await findConflicts(db, [overtaken])).toEqual(new Map())
  const theirs = { name: 'Approved', about: 'Theirs' }
  await publishAs('now', await propose(1, theirs))
  expect(await findConflicts(db, [overtaken])).toEqual(new Map())
  expect(await selectDue(db)).toEqual([{ id: overtaken, planCount: expect.any(Number) }])
  const { id: replacement, revision } = await publishAs('due', overtaken)
  expect(await readState(overtaken)).toBe('replaced')
  expect(await readState(later)).toBe('cancelled')
  await markSuperseded(db)
  const abandoned = await propose(3, {})
  await d1.prepare(`update publications set created_at = 60 where state = 'staging'`).bind().run()
  await deleteAbandoned(db)
  expect(await db.values(sql`select id from publications where state = 'staging'`)).toEqual([])

  const plans = [makePlan({ id: 1, ...theirs, name: 'Mine' })]
  expect(await selectCatalog(db)).toMatchObject({ origin: { revision }, plans })
  expect(await selectCatalogOrigin(db)).toMatchObject({ revision })
  expect(await selectCatalogPlan(db, 'plan-1')).toEqual({ plan: plans[0], revision })
  const { category, fundManager } = examplePlan
  const objects = [
    ['category', category?.id],
    ['fundManager', fundManager?.id],
    ['planType', 99],
  ] as const
  expect(await selectSharing(db, objects, 2)).toEqual(plans)
  expect(await selectSharing(db, objects, 1)).toEqual([])
  const size = { plans: 1, bytes: new TextEncoder().encode(storePlan(makePlan(plans[0]))[0] ?? '').byteLength + 1 }
  expect(await selectSizeWithout(db, [2])).toEqual({ plans: 1, lists: new Map([['KE', size]]) })
  expect(await selectSizeWithout(db, [1])).toEqual({ plans: 0, lists: new Map() })
  const { id, identifier, fundType, currency, isInvestable, viewableIn } = makePlan({ id: 1 })
  const summaries = [{ id, identifier, fundType, currency, isInvestable, viewableIn }]
  expect(await selectSummaries(db, { country: 'KE' })).toEqual(summaries)
  expect(await selectSummaries(db, { revision: first })).toEqual(summaries)
  expect(await selectSummaries(db, { country: 'UG' })).toEqual([])
  expect(await selectCatalogAt(db, first)).toEqual([makePlan({ id: 1 })])
  const upTo = (most: number) => selectRevisionUpTo(db, most)
  expect([await upTo(60_000), await upTo(first), await upTo(4e12)]).toEqual([0, first, revision])
  expect(await selectRecordedPlanIds(db, 'plan-1')).toEqual([1])
  expect(await selectHighestPlanId(db)).toBeGreaterThan(0)
  expect(
    await selectPlanList(d1, 'KE', { categoryId: examplePlan.category?.id ?? 0, currency: examplePlan.currency }),
  ).toMatchObject({
    documents: [expect.any(String)],
  })
  expect(
    await selectPublications(db, { planIds: [1], since: 60, afterRevision: first, states: ['published'] }),
  ).toHaveLength(3)
  expect(await selectChanges(db, replacement, [1])).toMatchObject([
    { before: { name: 'Approved' }, after: { name: 'Mine' } },
  ])
  const { plansHash } = (await selectPublication(db, replacement)) ?? {}
  const hashes = await hashStoredPlans(db)
  expect(hashes.get(replacement)).toBe(plansHash)
  expect(hashes.has(abandoned)).toBe(false)
  expect(await countListedPlans(db)).toBe(1)
  expect(await countListedPlans(db, 'KE')).toBe(1)
  expect(await countListedPlans(db, 'ZZ')).toBe(0)
  const unmigrated: unknown = await selectMigrations(db).catch((error: unknown) => error)
  expect(isCausedBy(unmigrated, 'no such table: d1_migrations')).toBe(true)

  // Partners and keys.
  const clientId = 'c'.repeat(16)
  const request = makeRequest()
  await insertNewPartner(db, request, { shortName: 'acme', name: 'Acme', country: 'KE', clientId, secretHash: 'first' })
  const changeId = (await findChange(db, request.requestId))?.id ?? 0
  const rotate = { kind: 'rotate', graceSeconds: 60, secretHash: 'second' } as const
  await insertPartnerChange(db, makeRequest(), changeId, rotate)
  await setContact(db, 'acme', 'dev@acme.example')
  await recordKeyChange(db, makeRequest(), 'keys-rotate', 'K')
  await deleteLeftovers(db)
  const [partner] = await selectPartners(db)
  expect(partner).toMatchObject({ shortName: 'acme', clientId, contact: 'dev@acme.example' })
  expect(partner?.secrets.map(({ createdAt, expiresAt }) => expiresAt && expiresAt - createdAt >= 60)).toEqual([
    true,
    null,
  ])
  expect(await selectPartner(db, 'acme', (await selectNowSeconds(db)) + 1)).toEqual(partner)
  expect((await selectStoredSecrets(db)).map(({ hash }) => hash)).toEqual(['first', 'second'])
  expect((await selectPartnerEntries(db, { shortName: 'acme', since: 60 })).map(({ kind }) => kind)).toEqual([
    'rotate',
    'create',
  ])
  expect(await selectKeyEntries(db)).toMatchObject([{ kid: 'K' }])
  expect(await selectPartnerCheck(d1, clientId)).toMatchObject({ revision, partner: { shortName: 'acme' } })

  // A copy.
  expect(await selectFingerprint(db)).toContain('["published",4]')
  expect((await selectSchema(db)).filter(([type]) => type === 'table').map(([, name]) => name)).toEqual([
    'catalog',
    'publications',
    'plan_versions',
    'change_record',
    'partner_contacts',
  ])
  const copied: unknown[][] = []
  for await (const page of readTable(db, 'change_record')) copied.push(...page)
  return copied.map((row) => row[5])
}

test('the test above calls every function of src/db with a statement', () => {
  const folder = resolve(import.meta.dirname, '../../../src/db')
  const sources = globSync('*.ts', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
  const names = sources.flatMap((source) =>
    [...source.matchAll(/^export (?:async )?function\*? (\w+)\(\s*(?:db|d1)\b/gm)].map(([, name = '']) => name),
  )
  const openers = ['openDatabase', 'readRows', 'listNewestVersions']
  // findConflicts calls the first one, selectChanges the next, publishPending two, and stageChanges the last two.
  const indirect = ['findMergeConflicts', 'selectChangesOf', 'mergePending', 'stageReplacement']
  const others = new Set([...openers, ...indirect, 'stagePublication', 'stageVersions'])
  const calls = readFileSync(import.meta.filename, 'utf8')
  expect(names.filter((name) => !others.has(name) && !calls.includes(`${name}(`))).toEqual([])
  expect(names.length).toBeGreaterThan(30)
})
