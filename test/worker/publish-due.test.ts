// What the Cron Trigger does. D1's clock decides what is due, so publications here are due in 1970.
import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test, vi } from 'vitest'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'
import { selectPublication } from '../../src/db/publication-queries.ts'
import { endAsCancelled } from '../../src/db/publication-states.ts'
import type { NewPublication } from '../../src/db/stage-publication.ts'
import worker from '../../src/worker/index.ts'
import { breakD1 } from './support/broken-bindings.ts'
import { startNewIsolate } from './support/isolate.ts'
import { basic, fetchToken, requestPlans, requestToken } from './support/requests.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { makePlan } from '../support/make-plan.ts'
import { publishAs, stageChanges, makeStagedPending } from '../support/publish-plans.ts'
import { d1Down, hang, interceptD1, type Fault } from '../support/unreliable-stores.ts'
import { seedPartner, seedPlans } from './support/seed.ts'

const db = openOperatorDatabase(env.DB)
const past = 60

beforeEach(async () => {
  startNewIsolate()
  await emptyDatabase(env)
})

async function runSchedule(bindings: Env = env): Promise<void> {
  await worker.scheduled(createScheduledController({ cron: '* * * * *' }), bindings)
}

/** @returns the lines that were logged, without the version. */
async function logOf(work: () => Promise<unknown>): Promise<unknown[]> {
  const lines: unknown[] = []
  const spies = (['info', 'warn', 'error'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((line: string) => {
      const { version, ...logged } = JSON.parse(line)
      expect({ level: logged.level, version }).toEqual({ level, version: env.VERSION.id })
      lines.push(logged)
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
  const id = await stageChanges(db, [{ planId: after.id, after }], { dueAt, ...overrides })
  await makeStagedPending(db, id, state)
  return id
}

const readState = async (id: number) => (await selectPublication(db, id))?.state
const readRevision = async (id: number) => (await selectPublication(db, id))?.revision
const listNames = async () =>
  (await selectPlanList(env.DB, 'KE', {})).documents.map((document) => JSON.parse(document).name)

const published = async (id: number) => ({
  level: 'info',
  event: 'publication_published',
  id,
  revision: await readRevision(id),
})

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

test('counts each run in the dataset, also one that fails, apart from partners', async () => {
  const points: unknown[] = []
  const USAGE = { writeDataPoint: (point?: AnalyticsEngineDataPoint) => void points.push(point) }
  await logOf(() => runSchedule({ ...env, USAGE }))
  breakD1(d1Down)
  expect(await logOf(() => runSchedule({ ...env, USAGE }))).toEqual([
    { level: 'error', event: 'schedule_failed', reason: 'StorageError: D1_ERROR: down' },
  ])
  expect(points).toEqual(['ok', 'failed'].map((result) => ({ indexes: ['/schedule'], blobs: ['schedule', result] })))
  const broken = {
    writeDataPoint: () => {
      throw new Error('Down.')
    },
  }
  await logOf(() => runSchedule({ ...env, USAGE: broken }))
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

  const reason = 'others changed name of plan-1'
  expect(await logOf(runSchedule)).toEqual([
    { level: 'error', event: 'publication_conflicted', id: conflicting, reason },
    await published(other),
  ])
  expect(await selectPublication(db, conflicting)).toMatchObject({
    state: 'conflicted',
    decidedBy: 'schedule',
    conflict: reason,
    revision: null,
  })
  expect(await listNames()).toEqual(['Meanwhile', 'Scheduled'])
  expect(await logOf(runSchedule)).toEqual([])
})

test('when storage fails for one publication, a later one that needs it does not end as conflicted', async () => {
  const { identifier } = makePlan({ id: 1 })
  await seedPlans(makePlan({ id: 1 }), makePlan({ id: 9 }))
  const first = await stageChanges(db, [{ planId: 1, after: null }], { dueAt: past })
  await makeStagedPending(db, first, 'scheduled')
  const second = await schedule(makePlan({ id: 2, identifier }), past + 60)
  await seedPlans(makePlan({ id: 10 }))
  await logOf(() => runSchedule({ ...env, DB: failUpdatesOf(first, 'published') }))
  expect(await readState(second)).toBe('scheduled')
  expect(await logOf(runSchedule)).toEqual([await published(first), await published(second)])
})

test('compares again when another publication comes between', async () => {
  await seedPlans(makePlan({ id: 1, name: 'Old' }))
  const id = await schedule(makePlan({ id: 1, name: 'Scheduled' }), past)
  await seedPlans(makePlan({ id: 1, name: 'Old', hint: 'First' }))
  let count = 0
  const interrupted = interceptD1(env.DB, async (call, { sql }) => {
    if (sql.includes('update "publications"') && ++count <= 9) {
      await seedPlans(makePlan({ id: 1, name: 'Old', hint: `${count}` }))
    }
    return call()
  })
  expect(await logOf(() => runSchedule({ ...env, DB: interrupted }))).toEqual([await published(id)])
  const { documents } = await selectPlanList(env.DB, 'KE', {})
  expect(documents.map((document) => JSON.parse(document))).toMatchObject([{ name: 'Scheduled', hint: '9' }])
  const countBases = env.DB.prepare('select count(distinct base_revision) from plan_versions where publication_id = ?')
  expect(await countBases.bind(id).raw()).toEqual([[1]])
})

test('a publication that others come before ten times waits for the next run', async () => {
  await seedPlans(makePlan({ id: 1, name: 'Old' }))
  const id = await schedule(makePlan({ id: 1, name: 'Scheduled' }), past)
  const busy = interceptD1(env.DB, async (call, { sql }) => {
    if (sql.includes('update "publications"')) await seedPlans(makePlan({ id: 2 }))
    return call()
  })
  expect(await logOf(() => runSchedule({ ...env, DB: busy }))).toEqual([])
  expect(await readState(id)).toBe('scheduled')
  expect(await logOf(runSchedule)).toEqual([await published(id)])
})

test('when storage fails for one publication, the others are published, and the next run publishes it', async () => {
  const ids = [await schedule(makePlan({ id: 1 }), past), await schedule(makePlan({ id: 2 }), past)]
  const [failing = 0, other = 0] = ids
  expect(await logOf(() => runSchedule({ ...env, DB: failUpdatesOf(failing, 'published') }))).toEqual([
    { level: 'error', event: 'publication_failed', id: failing, reason: 'StorageError: D1_ERROR: down' },
    await published(other),
  ])
  expect(await readState(failing)).toBe('scheduled')
  expect(await logOf(runSchedule)).toEqual([await published(failing)])
})

test('when a statement hangs for one publication, the others are published after a minute, and the run is counted', async () => {
  const ids = [await schedule(makePlan({ id: 1 }), past), await schedule(makePlan({ id: 2 }), past)]
  const [hanging = 0, other = 0] = ids
  const writeDataPoint = vi.fn<(point?: AnalyticsEngineDataPoint) => void>()
  const hung = Promise.withResolvers<void>()
  const hangOn: Fault = (call) => (hung.resolve(), hang(call))
  const bindings = { ...env, DB: failUpdatesOf(hanging, 'published', hangOn), USAGE: { writeDataPoint } }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const lines = await logOf(async () => {
    const run = runSchedule(bindings)
    await hung.promise
    await vi.advanceTimersByTimeAsync(60_000)
    await run
  })
  vi.useRealTimers()
  expect(lines).toEqual([
    { level: 'error', event: 'publication_failed', id: hanging, reason: expect.stringContaining('60000 ms') },
    await published(other),
  ])
  expect(writeDataPoint).toHaveBeenCalledTimes(1)
})

test('when ending a conflict fails, the next run ends it', async () => {
  const id = await schedule(makePlan({ id: 1, name: 'Scheduled' }), past)
  await seedPlans(makePlan({ id: 1, name: 'Meanwhile' }))
  const failEnds = failUpdatesOf(id, 'conflicted')
  expect(await logOf(() => runSchedule({ ...env, DB: failEnds }))).toMatchObject([
    { level: 'error', event: 'publication_failed', id },
  ])
  expect(await logOf(runSchedule)).toMatchObject([{ level: 'error', event: 'publication_conflicted', id }])
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
    { level: 'error', event: 'publication_conflicted', id: conflicting, reason: 'others changed name of plan-1' },
    ...(await Promise.all(ids.map(published))),
  ]
  expect(runs).toHaveLength(expected.length)
  expect(runs).toEqual(expect.arrayContaining(expected))
  expect(await listNames()).toEqual(['Meanwhile', ...ids.map((_, index) => `${index + 2}`)])
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
    await endAsCancelled(db, { publicationId: cancelled, actor: 'test', note: null })
    await publishAs(db, { publicationId: approved, actor: 'schedule', note: null }, 'due')
    return answer
  })
  expect(await logOf(() => runSchedule({ ...env, DB: interrupted }))).toEqual([])
  expect(await readState(cancelled)).toBe('cancelled')
  expect(await readState(approved)).toBe('published')
})

test.each(['in a run', 'when the schedule fails'])(
  'takes hashes from rows of partners that are not the newest: %s',
  async (when) => {
    const partner = await seedPartner()
    await env.DB.prepare(
      `insert into change_record (changed_at, actor, command, kind, request_id, partner, name, country, client_id, created_at, secrets)
     select changed_at, actor, command, 'set', 'another', partner, name, country, client_id, created_at, secrets from change_record`,
    ).run()
    const countHashes = () => env.DB.prepare('select count(secrets) as count from change_record').first('count')
    expect(await countHashes()).toBe(2)
    const isFailing = when === 'when the schedule fails'
    const DB = interceptD1(env.DB, (call, { sql }) =>
      isFailing && /order by .*"due_at"/.test(sql) ? d1Down(call) : call(),
    )
    expect(await logOf(() => runSchedule({ ...env, DB }))).toHaveLength(isFailing ? 1 : 0)
    expect(await countHashes()).toBe(1)
    expect((await requestToken(basic(partner.clientId, partner.clientSecret))).status).toBe(200)
  },
)

/** A database that fails to publish or to end a publication. */
function failUpdatesOf(id: number, state: 'published' | 'conflicted', fault = d1Down): D1Database {
  return interceptD1(env.DB, (call, { sql, params }) => {
    const isFailing = sql.includes('update "publications"') && params[0] === state && params.includes(id)
    return isFailing ? fault(call) : call()
  })
}
