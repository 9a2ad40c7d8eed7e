// What every store promises, tried on the local state, while another program has it open, on a deployed environment, and on the
// store with which tests run commands; and every statement of src/db on each of them.
import { inspect } from 'node:util'
import { sql, type SQL } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { OperatorDatabase } from '../../../src/db/operator-database.ts'
import { selectNowSeconds, selectPartners } from '../../../src/db/partner-queries.ts'
import { partnerContacts } from '../../../src/db/schema.ts'
import { describeMigrate, type Target } from '../../../src/ops/shared/target.ts'
import { isCausedBy } from '../../../src/ops/store/failure.ts'
import { withLocalStore } from '../../../src/ops/store/local-store.ts'
import { withRemoteStore } from '../../../src/ops/store/remote-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { stageChanges } from '../../support/publish-plans.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { deliver, openTextDatabase, type Mode } from '../../support/text-database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { migrate, useLocalBindings } from '../support/local-bindings.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { runEveryStatement } from '../support/every-statement.ts'

const persistTo = await createFolder(afterAll)
const bindings = {
  local: useLocalBindings({ persistTo }),
  remote: useLocalBindings(),
  memory: useMemoryBindings(),
}

let mode: Mode = 'once'

/** The server of Cloudflare's API calls these methods. */
function interceptDatabase(d1: D1Database): D1Database {
  const prepare = (statement: string) => ({
    bind: (...params: unknown[]) => ({
      raw: (options: { columnNames: true }) =>
        deliver(mode)(
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
    expect(error).toMatch(/^UserError: .* is not migrated\.\nRun: /)
    expect(error).toContain(describeMigrate(target))
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
  let closed: Promise<void> | undefined
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
    closed = withStore(targets[kind], async (store) => {
      opened = store
      started.resolve()
      await end.promise
    })
    await Promise.race([started.promise, closed])
  })
  // Its runtime writes into the folder, which is removed afterwards.
  afterAll(async () => {
    end.resolve()
    await closed
  })
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
    expect(isCausedBy(twice, /UNIQUE constraint failed: partner_contacts\.partner/)).toBe(true)
    expect(await open(({ db }) => db.values(sql`select * from partner_contacts`))).toEqual([])
  })

  test('a statement takes 100 parameters, and no more', async () => {
    const list = (count: number) => sql.join(Array<SQL>(count).fill(sql`${'x'}`), sql`, `)
    expect(await open(({ db }) => db.values(sql`select 1 where 'x' in (${list(100)})`))).toEqual([[1]])
    const error = await catchError(({ db }) => db.values(sql`select 1 where 'x' in (${list(101)})`))
    expect(isCausedBy(error, /too many SQL variables/)).toBe(true)
  })

  test('a parameter has at most 2,000,000 bytes, except in the local runtime', async () => {
    const read = (bytes: number) => catchError(({ db }) => db.values(sql`select 1 where ${'x'.repeat(bytes)} <> ''`))
    expect(await read(2_000_000)).toEqual([[1]])
    const larger = await read(2_000_001)
    expect(isCausedBy(larger, /string or blob too big/)).toBe(kind !== 'local')
  })

  test('a publication of plans with large texts is staged whole', async () => {
    const about = '☕'.repeat(10_000)
    const changes = Array.from({ length: 150 }, (_, planId) => ({ planId, after: makePlan({ id: planId, about }) }))
    await open(({ db }) => stageChanges(db, changes))
    expect(await open(({ db }) => db.values(sql`select count(*) from plan_versions`))).toEqual([[150]])
  })

  test('lists the keys of the cache on every page, with their metadata', async () => {
    const { CATALOG_CACHE } = bindings[kind]()
    const names = Array.from({ length: 25 }, (_, index) => `some:${String(index).padStart(2, '0')}`)
    for (const name of names) await CATALOG_CACHE.put(name, 'x', { metadata: { name } })
    await CATALOG_CACHE.put('other', 'x')
    const keys = await open(({ listKeys }) => listKeys('some:'))
    expect(keys.map(({ name, metadata }) => ({ name, metadata }))).toEqual(
      names.map((name) => ({ name, metadata: { name } })),
    )
  })

  // The HTTP API sends every number as text. The runtime is slow, so the other arrivals run there every night.
  const arrivals: Mode[] = inject('isSlow') ? ['once', 'twice', 'answer lost'] : ['answer lost']
  test.each(arrivals)('every statement of src/db, each write %s', async (arrival) => {
    const { DB } = bindings[kind]()
    mode = arrival
    const run = (db: OperatorDatabase) => runEveryStatement(db, DB, mode)
    const recorded = kind === 'remote' ? open(({ db }) => run(db)) : run(openTextDatabase(DB, deliver(mode)))
    expect(await recorded).toEqual(['create', 'rotate', 'keys-rotate'])
  })
})
