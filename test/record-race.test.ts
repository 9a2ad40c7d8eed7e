// Operators, the schedule, an approver and a canceller at once: their statements are interleaved at random, parameters are text, and
// answers get lost. After each write, and at the end, rules say what may never happen.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getTableName, is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { CatalogPlan } from '../src/catalog/plan-schema.ts'
import { selectCatalog, selectCatalogAt } from '../src/db/catalog-queries.ts'
import { selectLastingRows } from '../src/db/copy-queries.ts'
import { comparedTables, listLostColumns } from '../src/ops/core/service/database-copy.ts'
import { StorageError } from '../src/db/database.ts'
import { unwrapQueryError, type OperatorDatabase } from '../src/db/operator-database.ts'
import { openOperatorDatabase } from './support/operator-database.ts'
import { deleteLeftovers } from '../src/db/leftovers.ts'
import {
  insertPartnerChange,
  insertNewPartner,
  findChange,
  recordKeyChange,
  setContact,
  type PartnerChange,
} from '../src/db/partner-changes.ts'
import { selectPartnerEntries, selectPartner } from '../src/db/partner-queries.ts'
import { selectChanges, selectPublications } from '../src/db/publication-queries.ts'
import * as schema from '../src/db/schema.ts'
import { approveForLater, endAsCancelled, releasePublication } from '../src/db/publication-states.ts'
import { endAsConflicted, markSuperseded, publish, publishPending, selectDue } from '../src/db/publish.ts'
import { deleteAbandoned } from '../src/db/stage-publication.ts'
import { useMemoryBindings } from './ops/support/memory-bindings.ts'
import { emptyDatabase } from './ops/support/test-database.ts'
import { makeRequest } from './support/insert-partner.ts'
import { makePlan } from './support/make-plan.ts'
import { stageChanges } from './support/publish-plans.ts'
import { listWrites, openTextDatabase, type Run } from './support/text-database.ts'

const d1 = useMemoryBindings()().DB
const planIds = [1, 2, 3]
const shortNames = ['aa', 'bb']
const past = 60

type Random = (below: number) => number

/** A linear congruential generator: the same seed makes the same race. */
function createRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return Math.floor((state / 2 ** 32) * below)
  }
}

class LostAnswerError extends Error {}

/** Lets one actor at a time run its next statement. */
function createInterleaving(random: Random, audit: Run) {
  const waiting: (() => Promise<void>)[] = []
  const run: Run = (call, sql) =>
    new Promise((resolve, reject) => {
      waiting.push(async () => {
        const isWrite = listWrites(sql).length > 0
        try {
          const answer = await audit(call, sql)
          if (isWrite && random(10) === 0) await audit(call, sql)
          if (isWrite && random(10) === 0) reject(new LostAnswerError())
          else resolve(answer)
        } catch (error) {
          reject(error)
        }
      })
    })
  async function start(actors: (() => Promise<unknown>)[]): Promise<void> {
    const running = new Set(actors)
    const ends = actors.map((act) => act().finally(() => running.delete(act)))
    while (running.size > 0) {
      // An actor computes hashes between two statements.
      while (waiting.length < running.size) await new Promise((resolve) => setImmediate(resolve))
      const [next] = waiting.splice(random(waiting.length), 1)
      await next?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(ends)
  }
  return { run, start }
}

/** Some work, whose answer may be lost at any statement. */
async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  return work().catch((error: unknown) => {
    // Somebody published while the catalog was read, or an answer is lost.
    if (unwrapQueryError(error) instanceof StorageError) return undefined
    throw error
  })
}

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[random(items.length)]
  if (item === undefined) throw new Error('nothing to pick')
  return item
}

function createActors(db: OperatorDatabase, random: Random, steps: number) {
  let texts = 0
  const repeat = (count: number, work: () => Promise<unknown>) => async () => {
    for (let step = 0; step < count; step++) await attempt(work)
  }
  const edit = (plan: CatalogPlan | undefined, id: number): CatalogPlan =>
    makePlan({ id, ...plan, [pick(random, ['name', 'hint', 'about'])]: `Text ${++texts}` })

  async function editCatalog() {
    const actor = pick(random, ['amina', 'Brian'])
    const { origin, plans } = await selectCatalog(db)
    const chosen = planIds.filter(() => random(2) === 0)
    const changes = chosen.map((planId) => {
      const isRemoved = random(5) === 0
      return {
        planId,
        after: isRemoved
          ? null
          : edit(
              plans.find(({ id }) => id === planId),
              planId,
            ),
      }
    })
    const kind = random(4)
    const overrides = {
      actor,
      baseRevision: origin.revision,
      needsApproval: kind === 1,
      dueAt: kind === 0 ? null : past,
    }
    const id = await stageChanges(db, changes, overrides)
    if (kind === 1) await releasePublication(db, id, 'waiting')
    else if (kind === 2) await releasePublication(db, id, 'scheduled')
    else await publish(db, { publicationId: id, actor, note: null }, 'now')
    if (random(2) === 0) await markSuperseded(db)
  }

  async function publishOrEnd(id: number, mode: 'due' | 'approve', actor: string): Promise<void> {
    const decision = { publicationId: id, actor, note: null }
    const outcome = await publishPending(db, decision, mode)
    if (outcome.kind === 'conflict') await endAsConflicted(db, decision, outcome.reason)
  }

  async function runSchedule() {
    for (const id of await selectDue(db)) await publishOrEnd(id, 'due', 'schedule')
    await deleteLeftovers(db)
    await markSuperseded(db)
  }

  async function decide() {
    const rows = await selectPublications(db, {})
    const { id, state } = rows[random(Math.min(rows.length, 6))] ?? { id: 1, state: 'staging' }
    const decision = { publicationId: id, actor: pick(random, ['AMINA', 'Carol']), note: null }
    const kind = random(5)
    if (kind === 0) await endAsCancelled(db, decision)
    else if (kind === 1) await approveForLater(db, decision)
    else if (kind === 2) await deleteAbandoned(db)
    else if (state === 'waiting') await publishOrEnd(id, 'approve', decision.actor)
  }

  const outcomes = { made: 0, keys: 0 }

  async function changeSomePartner() {
    const shortName = pick(random, shortNames)
    const partner = await selectPartner(db, shortName)
    const request = makeRequest()
    const secretHash = `hash ${request.requestId}`
    const changes: PartnerChange[] = [
      { kind: 'set', name: `${partner?.name}.`, country: 'KE' },
      { kind: 'set', name: `${partner?.name}.`, country: pick(random, ['KE', 'UG']) },
      { kind: pick(random, ['suspend', 'resume', 'end-tokens'] as const) },
      { kind: 'lockdown', secretHash },
      { kind: 'replace-all', secretHash },
    ]
    const made = await attempt(() => insertPartnerChange(db, request, partner?.id ?? 0, pick(random, changes)))
    const isMade = (await findChange(db, request.requestId)) !== undefined
    if (made !== undefined) expect(isMade).toBe(true)
    if (isMade) outcomes.made++
    if (random(2) === 0) await deleteLeftovers(db)
    if (random(4) === 0) await setContact(db, shortName, random(2) === 0 ? null : 'contact')
    if (await recordKeyChange(db, makeRequest(), 'keys-rotate', 'K')) outcomes.keys++
  }

  const actors = [
    repeat(steps, editCatalog),
    repeat(steps, editCatalog),
    repeat(steps, runSchedule),
    repeat(steps * 2, decide),
    repeat(steps, changeSomePartner),
    repeat(steps, changeSomePartner),
  ]
  return { actors, outcomes }
}

type Row = Record<string, unknown>

/** Reads the rows that last, with their tables, by key. */
async function readLasting(): Promise<Map<string, { table: string; row: Row }>> {
  const tables = Object.entries(comparedTables)
  const answers = await d1.batch<Row>(tables.map(([table]) => d1.prepare(selectLastingRows(table))))
  return new Map(
    tables.flatMap(([table, { key }], index) =>
      (answers[index]?.results ?? []).map((row) => [
        [table, ...key.map((column) => row[column])].join(' '),
        { table, row },
      ]),
    ),
  )
}

const seenWrites = new Set<string>()

const audit: Run = async (call, sql) => {
  const writes = listWrites(sql)
  for (const write of writes) seenWrites.add(write)
  if (writes.length === 0) return call()
  expect(writes, 'a statement writes one table').toHaveLength(1)
  const before = await readLasting()
  const answer = await call()
  const after = await readLasting()
  for (const [key, { table, row }] of before) {
    expect(listLostColumns(table, row, after.get(key)?.row ?? {}), `the record changed: ${key}`).toEqual([])
  }
  return answer
}

async function checkRules(): Promise<void> {
  const db = openOperatorDatabase(d1)
  const rows = (await selectPublications(db, { states: ['published'] })).toSorted(
    (a, b) => (a.revision ?? 0) - (b.revision ?? 0),
  )
  const catalog = new Map<number, CatalogPlan>()
  const changedAt = new Map<number, number>()
  for (const { id, revision, baseRevision, planCount, actor, approvedBy } of rows) {
    const changes = await selectChanges(db, id)
    expect(changes).toHaveLength(planCount)
    for (const { planId, after } of changes) {
      expect(changedAt.get(planId) ?? 0, 'an update that was lost').toBeLessThanOrEqual(baseRevision)
      changedAt.set(planId, revision ?? 0)
      catalog.delete(planId)
      if (after) catalog.set(planId, after)
    }
    expect(approvedBy?.toLowerCase()).not.toBe(actor.toLowerCase())
    const replay = [...catalog.values()].toSorted((a, b) => a.id - b.id)
    expect(await selectCatalogAt(db, revision ?? 0), 'as-of is a replay').toEqual(replay)
  }
  const current = await selectCatalog(db)
  expect(current.plans).toEqual([...catalog.values()].toSorted((a, b) => a.id - b.id))
  const all = await selectPublications(db, {})
  const replaced = all.filter(({ state }) => state === 'replaced').map(({ id }) => id)
  expect(new Set(rows.flatMap(({ replacesId }) => replacesId ?? []))).toEqual(new Set(replaced))
  await d1.prepare('update plan_versions set superseded = 0').run()
  expect(await selectCatalog(db), 'the mark changes no list').toEqual(current)

  for (const shortName of shortNames) {
    const entries = (await selectPartnerEntries(db, { shortName })).toReversed()
    for (const [index, { kind, name, tokensValidFrom }] of entries.entries()) {
      const before = entries[index - 1]
      if (before === undefined) continue
      expect(name, 'a change that was lost').toBe(`${before.name}${kind === 'set' ? '.' : ''}`)
      expect(tokensValidFrom ?? 0, 'a change that was lost').toBeGreaterThanOrEqual(before.tokensValidFrom ?? 0)
    }
  }
  await deleteLeftovers(db)
  expect(await d1.prepare('select count(secrets) from change_record').raw()).toEqual([[shortNames.length]])
}

async function race(seed: number, steps: number, mutate?: (sql: string) => string): Promise<void> {
  await emptyDatabase({ DB: d1 })
  const random = createRandom(seed)
  for (const [index, shortName] of shortNames.entries()) {
    const clientId = String(index).padStart(16, '0')
    const partner = { shortName, name: 'Name', country: 'KE', clientId, secretHash: 'hash' }
    await insertNewPartner(openTextDatabase(d1, audit, mutate), makeRequest(), partner)
  }
  const { run, start } = createInterleaving(random, audit)
  const { actors, outcomes } = createActors(openTextDatabase(d1, run, mutate), random, steps)
  await start(actors)
  await checkRules()
  expect(outcomes.made, 'changes of partners').toBeGreaterThan(0)
  expect(outcomes.keys, 'changes of keys').toBeGreaterThan(0)
}

test('no interleaving loses an update, and every write of src/db takes part', async () => {
  for (const seed of [1, 2, 3]) await race(seed, 12)
  const folder = join(import.meta.dirname, '../src/db')
  const sources = globSync('*.ts', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
  expect(seenWrites).toEqual(new Set(sources.flatMap(listSourceWrites)))
})

/** The writes of a source, as `listWrites` names them: in SQL, and by the query builder. */
function listSourceWrites(source: string): string[] {
  const code = source.replaceAll(/^ *(\/\/|\*|\/\*).*$/gm, '')
  const writes = code.matchAll(/\b(insert into|update|delete from) \$\{(\w+)\}|\.(insert|update|delete)\((\w+)\)/g)
  const verbs: Record<string, string> = { insert: 'insert into', update: 'update', delete: 'delete from' }
  return [...writes].map(([, sqlVerb, sqlTable = '', verb = '', table = sqlTable]) => {
    const { [table]: found } = schema as Record<string, unknown>
    return `${sqlVerb ?? verbs[verb]} ${is(found, Table) ? getTableName(found) : table}`
  })
}

test.each([
  [
    'the conflict check',
    (sql: string) => sql.replace('conflict is null from', `coalesce(conflict, 'overtaken') = 'overtaken' from`),
    'an update that was lost',
  ],
  [
    'the newest row of a partner',
    (sql: string) => sql.replace(/ and "newest"\."id" = \(select max\("id"\).*?\) and/, ' and'),
    'a change that was lost',
  ],
])('the rules find a race without %s', async (_, mutate, broken) => {
  await expect(
    (async () => {
      for (const seed of [1, 2, 3, 4, 5]) await race(seed, 12, mutate)
    })(),
  ).rejects.toThrow(broken)
})
