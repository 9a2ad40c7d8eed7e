// What the Cron Trigger does. D1's clock decides what is due, so publications here are due in 1970 or in 2100.
import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { openDatabase } from '../../src/db/database.ts'
import { releasePublication, selectPublication, type NewPublication } from '../../src/db/publication-queries.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'
import { decide } from '../../src/db/publish.ts'
import worker from '../../src/worker/index.ts'
import { breakD1 } from './support/broken-bindings.ts'
import { startNewIsolate } from './support/isolate.ts'
import { fetchToken, requestPlans } from './support/requests.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { makePlan } from '../support/make-plan.ts'
import { publishNow, stageChanges } from '../support/publish-plans.ts'
import { d1Down, interceptD1 } from '../support/unreliable-stores.ts'
import { seedPartner, seedPlans } from './support/seed.ts'

const db = openDatabase(env.DB)
const past = 60
const future = 4_102_444_800

beforeEach(async () => {
  startNewIsolate()
  await emptyDatabase(env)
})
afterEach(() => vi.restoreAllMocks())

async function runSchedule(bindings: Env = env): Promise<void> {
  await worker.scheduled(createScheduledController({ cron: '* * * * *' }), bindings)
}

/** @returns the lines that were logged, as `[level, event]`. */
async function logOf(work: () => Promise<unknown>): Promise<[string, unknown][]> {
  const lines: [string, unknown][] = []
  const spies = (['info', 'warn', 'error'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((line: string) => {
      const { level: ownLevel, version, ...event } = JSON.parse(line)
      expect([ownLevel, version]).toEqual([level, env.VERSION.id])
      lines.push([level, event])
    }),
  )
  await work()
  for (const spy of spies) spy.mockRestore()
  return lines
}

async function schedule(
  after: CatalogPlan,
  dueAt: number,
  state: 'scheduled' | 'waiting' = 'scheduled',
  overrides: Partial<NewPublication> = {},
): Promise<number> {
  const id = await stageChanges(db, [{ planId: after.id, before: null, after }], { dueAt, ...overrides })
  await releasePublication(db, id, state)
  return id
}

const readState = async (id: number) => (await selectPublication(db, id))?.state
const readRevision = async (id: number) => (await selectPublication(db, id))?.revision
const listNames = async () =>
  (await selectPlanList(db, 'KE', {})).documents.map((document) => JSON.parse(document).name)

const published = async (id: number) => [
  'info',
  { event: 'publication_published', id, revision: await readRevision(id) },
]

test('publishes what is due, and partners see it', async () => {
  const partner = await seedPartner('KE')
  const token = await fetchToken(partner)
  await seedPlans(makePlan({ id: 1, name: 'Old' }))
  const list = async () => {
    startNewIsolate()
    const response = await requestPlans({ shortName: partner.shortName, token })
    const { data } = await response.json<{ data: { plans: { name: string }[] } }>()
    return data.plans.map(({ name }) => name)
  }
  const id = await schedule(makePlan({ id: 1, name: 'New' }), past)
  expect(await list()).toEqual(['Old'])
  expect(await logOf(runSchedule)).toEqual([await published(id)])
  expect(await list()).toEqual(['New'])
})

test('does nothing before the time, with one query', async () => {
  const id = await schedule(makePlan({ id: 1 }), future)
  const prepare = vi.spyOn(env.DB, 'prepare')
  expect(await logOf(runSchedule)).toEqual([])
  expect(prepare).toHaveBeenCalledTimes(1)
  expect(await readState(id)).toBe('scheduled')
  expect(await listNames()).toEqual([])
})

test('publishes in the order of the times', async () => {
  const second = await schedule(makePlan({ id: 2 }), past + 60)
  const first = await schedule(makePlan({ id: 1 }), past)
  expect(await logOf(runSchedule)).toEqual([await published(first), await published(second)])
})

test('a publication that conflicts changes nothing, is logged as an error, and stops no other', async () => {
  await seedPlans(makePlan({ id: 1, name: 'Old' }), makePlan({ id: 2, name: 'Old' }))
  const conflicting = await schedule(makePlan({ id: 1, name: 'Scheduled' }), past)
  const other = await schedule(makePlan({ id: 2, name: 'Scheduled' }), past + 60)
  await seedPlans(makePlan({ id: 1, name: 'Meanwhile' }))

  const reason = 'a plan was changed'
  expect(await logOf(runSchedule)).toEqual([
    ['error', { event: 'publication_conflicted', id: conflicting, reason }],
    await published(other),
  ])
  expect(await selectPublication(db, conflicting)).toMatchObject({
    state: 'conflicted',
    entries: [{ kind: 'conflicted', actor: 'schedule', note: reason }],
    revision: null,
  })
  expect(await listNames()).toEqual(['Meanwhile', 'Scheduled'])
  expect(await logOf(runSchedule)).toEqual([])
})

test.each([
  ['waits for approval', 'waiting'],
  // Only a change of the database without the command line leads here.
  ['was scheduled without its approval', 'scheduled'],
] as const)('never publishes a publication that %s', async (_, state) => {
  const id = await schedule(makePlan({ id: 1 }), past, state, { needsApproval: true })
  await logOf(runSchedule)
  expect(await readState(id)).toBe(state)
  expect(await listNames()).toEqual([])
})

test('a publication that was approved is published at its time', async () => {
  const id = await schedule(makePlan({ id: 1 }), past, 'waiting', { needsApproval: true })
  await decide(
    { read: db, commit: db },
    { publicationId: id, kind: 'approved', actor: 'another', note: null, isPublishing: false },
  )
  await logOf(runSchedule)
  expect(await readState(id)).toBe('published')
})

test('when storage fails, the next run publishes', async () => {
  const id = await schedule(makePlan({ id: 1 }), past)
  breakD1(d1Down)
  expect(await logOf(runSchedule)).toEqual([
    ['error', { event: 'schedule_failed', reason: 'StorageError: D1_ERROR: down' }],
  ])
  vi.restoreAllMocks()
  expect(await logOf(runSchedule)).toEqual([await published(id)])
})

test('when storage fails for one publication, the others are published, and the next run publishes it', async () => {
  const ids = [await schedule(makePlan({ id: 1 }), past), await schedule(makePlan({ id: 2 }), past)]
  const [failing = 0, other = 0] = ids
  expect(await logOf(() => runSchedule({ ...env, DB: failEntriesOf(failing) }))).toEqual([
    ['error', { event: 'publication_failed', id: failing, reason: 'StorageError: D1_ERROR: down' }],
    await published(other),
  ])
  expect(await readState(failing)).toBe('scheduled')
  expect(await logOf(runSchedule)).toEqual([await published(failing)])
})

test('when ending a conflict fails, the next run ends it', async () => {
  const id = await schedule(makePlan({ id: 1, name: 'Scheduled' }), past)
  await seedPlans(makePlan({ id: 1, name: 'Meanwhile' }))
  const failEnds = failEntriesOf(id, 'conflicted')
  expect(await logOf(() => runSchedule({ ...env, DB: failEnds }))).toMatchObject([
    ['error', { event: 'publication_failed', id }],
  ])
  expect(await logOf(runSchedule)).toMatchObject([['error', { event: 'publication_conflicted', id }]])
  expect(await readState(id)).toBe('conflicted')
})

test('runs that overlap publish everything once, and log it once', async () => {
  await seedPlans(makePlan({ id: 1, name: 'Old' }))
  const conflicting = await schedule(makePlan({ id: 1 }), past)
  await seedPlans(makePlan({ id: 1, name: 'Meanwhile' }))
  const ids = []
  for (let id = 2; id < 12; id++) ids.push(await schedule(makePlan({ id, name: `${id}` }), past))
  const runs = await logOf(() => Promise.all([runSchedule(), runSchedule(), runSchedule()]))
  const expected = [
    ['error', { event: 'publication_conflicted', id: conflicting, reason: 'a plan was changed' }],
    ...(await Promise.all(ids.map(published))),
  ]
  expect(runs).toHaveLength(expected.length)
  expect(runs).toEqual(expect.arrayContaining(expected))
  expect(await listNames()).toEqual(['Meanwhile', ...ids.map((_, index) => `${index + 2}`)])
  expect(await env.DB.prepare('select count(*) as count from publication_entries').first('count')).toBe(
    2 + expected.length,
  )
})

test('a publication that an operator cancels or publishes during the run is left alone', async () => {
  const cancelled = await schedule(makePlan({ id: 1 }), past)
  const approved = await schedule(makePlan({ id: 2 }), past)
  let isInterrupted = false
  const interrupted = interceptD1(env.DB, async (call) => {
    const answer = await call()
    if (isInterrupted) return answer
    // The first query selects what is due.
    isInterrupted = true
    const cancelling = { kind: 'cancelled', actor: 'test', note: null, isPublishing: false } as const
    await decide({ read: db, commit: db }, { publicationId: cancelled, ...cancelling })
    await publishNow(db, approved)
    return answer
  })
  expect(await logOf(() => runSchedule({ ...env, DB: interrupted }))).toEqual([])
  expect([await readState(cancelled), await readState(approved)]).toEqual(['cancelled', 'published'])
})

/** A database that fails to insert entries about one publication. */
function failEntriesOf(id: number, kind = 'published'): D1Database {
  return interceptD1(env.DB, (call, { sql, params }) => {
    const isFailing = sql.startsWith('insert') && params.includes(kind) && params.includes(id)
    return isFailing ? d1Down(call) : call()
  })
}
