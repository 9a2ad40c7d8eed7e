// What every store promises, tried on the local state, while another program has it open, on a deployed environment, and on the
// store with which tests run commands.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { sql, type SQL } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { selectCatalogOrigin } from '../../../src/db/catalog-queries.ts'
import { isCausedBy } from '../../../src/db/database.ts'
import { selectNowSeconds } from '../../../src/db/publication-queries.ts'
import { findRefusal } from '../../../src/db/refusal.ts'
import { partners } from '../../../src/db/schema.ts'
import { prepareImport } from '../../../src/ops/core/catalog-import.ts'
import { listPlans } from '../../../src/ops/core/catalog-plans.ts'
import { findPartnerAt, listPartnerEntries, verifyChangeRecord } from '../../../src/ops/core/change-record.ts'
import {
  changePartner,
  createPartner,
  findPartner,
  listLiveSecrets,
  listPartners,
  replaceSecret,
  type PartnerRequest,
} from '../../../src/ops/core/partner-accounts.ts'
import { closePlan, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { invalidateLists, publishChange } from '../../../src/ops/core/publications.ts'
import { describeMigration, type Target } from '../../../src/ops/shared/target.ts'
import { withStore } from '../../../src/ops/store/open-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { migrate, useLocalBindings } from '../support/local-bindings.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { emptyDatabase, listKeysAfter } from '../support/test-database.ts'

const persistTo = await mkdtemp(join(tmpdir(), 'catalog-'))
afterAll(() => rm(persistTo, { recursive: true }))
const bindings = {
  local: useLocalBindings({ persistTo }),
  remote: useLocalBindings(),
  memory: useMemoryBindings(),
}
useFakeCloudflare(bindings.remote)
const targets: Record<'local' | 'remote', Target> = {
  local: { persistTo },
  remote: { remote: true, env: 'staging' },
}
const errorsBeforeMigration = new Map<Target, unknown>()

beforeAll(async () => {
  for (const kind of ['local', 'remote'] as const) {
    const { DB } = bindings[kind]()
    await DB.prepare('select 1').run()
    const error = await withStore(targets[kind], listPartners).catch((reason: unknown) => reason)
    errorsBeforeMigration.set(targets[kind], error)
    await migrate(DB)
  }
})

const attribution = { actor: 'amina@example.com', command: 'test', note: null }
const operator = { attribution, warn: (warning: string) => expect.unreachable(warning) }
const acme = { shortName: 'acme', name: 'Acme', country: 'KE' }
const plans = [makePlan({ id: 1, viewableIn: ['KE', 'UG'] }), makePlan({ id: 2, performance1: -0.25 })]

describe.each(Object.entries(targets))('a command on a %s store', (_, target) => {
  test('refuses a database that is not migrated, with the command that migrates it', () => {
    const error = String(errorsBeforeMigration.get(target))
    expect(error).toMatch(/^UserError: .* is not migrated\. Run: /)
    expect(error).toContain(describeMigration(target))
  })

  test('gets no parameters of a query with an error', async () => {
    const fail = ({ commit }: Store) => commit.run(sql`insert into partners (short_name) values (${'hidden'})`)
    const error: unknown = await withStore(target, fail).catch((reason: unknown) => reason)
    expect(inspect(error)).toContain('NOT NULL constraint failed')
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
  const insert = (shortName: string) =>
    sql`insert into partners (short_name, name, country, client_id, created_at) values (${shortName}, 'Wäk ☕', 'KE', ${'c'.repeat(16)}, ${4102444800})`
  const catchError = (work: (store: Store) => Promise<unknown>) => open(work).catch((error: unknown) => error)
  const findAcme = () => open((store) => findPartner(store, 'acme'))
  const change = (wanted: PartnerRequest) => open((store) => changePartner(store, wanted, operator))

  beforeAll(async () => {
    if (kind === 'memory') {
      opened = openBindingStore(bindings.memory(), { persistTo })
      return
    }
    const started = Promise.withResolvers<void>()
    withStore(targets[kind], async (store) => {
      // With quick hashes.
      opened = { ...store, config: { PBKDF2_ITERATIONS: 1 } }
      started.resolve()
      await end.promise
    }).catch(started.reject)
    await started.promise
  })
  afterAll(() => end.resolve())
  beforeEach(() => emptyDatabase(bindings[kind]()))

  test('reads text, numbers and nulls as D1 has them', async () => {
    const rows = await open(({ read }) =>
      read.values(sql`select 'Wäk ☕''"', 1, -0.5, 9007199254740991, null, typeof(cast(${7} as integer))`),
    )
    expect(rows).toEqual([['Wäk ☕\'"', 1, -0.5, Number.MAX_SAFE_INTEGER, null, 'integer']])
    expect(await open(({ read }) => read.values(sql`select 1 where false`))).toEqual([])
    expect(Math.abs((await open(({ read }) => selectNowSeconds(read))) - Date.now() / 1000)).toBeLessThan(60)
  })

  test.each(['stage', 'commit'] as const)('a statement of %s takes effect, and returns its rows', async (handle) => {
    await open(async (store) => {
      await store[handle].run(insert('one'))
      const update = sql`update partners set name = 'New'`
      expect(await store[handle].values(sql`${update} returning short_name, created_at`)).toEqual([['one', 4102444800]])
      expect(await store[handle].values(sql`${update} where false returning id`)).toEqual([])
      expect(await store.read.select({ name: partners.name }).from(partners)).toEqual([{ name: 'New' }])
    })
  })

  test('nothing of a statement that fails takes effect, and the error says why', async () => {
    const twice = await catchError(({ commit }) =>
      commit.run(sql`${insert('one')}, ('two', 'Two', 'KE', ${'c'.repeat(16)}, 0)`),
    )
    expect(isCausedBy(twice, 'UNIQUE constraint failed: partners.client_id')).toBe(true)
    expect(await open(listPartners)).toEqual([])
  })

  test('a statement takes 100 parameters, and no more', async () => {
    const list = (count: number) => sql.join(Array<SQL>(count).fill(sql`${'x'}`), sql`, `)
    expect(await open(({ read }) => read.values(sql`select 1 where 'x' in (${list(100)})`))).toEqual([[1]])
    const error = await catchError(({ read }) => read.values(sql`select 1 where 'x' in (${list(101)})`))
    expect(isCausedBy(error, 'too many SQL variables')).toBe(true)
  })

  test('the refusal of a trigger is recognized', async () => {
    const outdated = await catchError(({ commit }) =>
      commit.run(sql`insert into change_requests (kind) values ('create')`),
    )
    expect(findRefusal(outdated)).toBe('outdated_command_line')
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

  test('the catalog comes back from an import unchanged, and plans change', async () => {
    await open(async (store) => {
      await publishChange(store, await prepareImport(store, { plans }), { attribution })
      expect(await listPlans(store)).toEqual(plans)
      await setViewable(store, 'plan-2', { countries: ['KE'], isViewable: false }, { attribution })
      await closePlan(store, 'plan-1', 'Sold out.', { attribution })
      const [first, second] = await listPlans(store)
      expect([first?.nonInvestableNote, second?.viewableIn]).toEqual(['Sold out.', []])
      const revision = await invalidateLists(store, attribution)
      expect(await selectCatalogOrigin(store.read)).toMatchObject({ revision })
    })
  })

  test('partners and secrets change', async () => {
    const { clientId } = await open((store) => createPartner(store, acme, attribution))
    const rotate = () =>
      open(async (store) => replaceSecret(store, await findAcme(), { kind: 'rotate', graceSeconds: 60 }, operator))
    expect((await rotate()).clientId).toBe(clientId)
    await expect(rotate()).rejects.toThrow(/^acme has two live secrets, .* --grace 0 --/)
    await change({ kind: 'suspend', partner: 'acme' })
    await change({ kind: 'resume', partner: 'acme' })
    await change({ kind: 'set-country', partner: 'acme', country: 'UG' })
    const found = await findAcme()
    expect(found).toMatchObject({ ...acme, country: 'UG', clientId, suspendedAt: null })
    const [old, current] = await open((store) => listLiveSecrets(store, found))
    expect([old?.expiresAt, current?.expiresAt]).toEqual([(current?.createdAt ?? 0) + 60, null])
    const entries = await open((store) => listPartnerEntries(store, { shortName: 'acme', since: 0 }))
    expect(entries.map((entry) => entry.kind)).toEqual(['set-country', 'resume', 'suspend', 'rotate', 'create'])
    expect(await open((store) => findPartnerAt(store, 'acme', found.createdAt + 60))).toMatchObject({ country: 'UG' })
    expect(await open(verifyChangeRecord)).toMatchObject({ entryCount: 5 })
  })
})
