import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { decide } from '../../../src/db/publish.ts'
import { examine, type HealthCheck } from '../../../src/ops/core/doctor.ts'
import { dropKey, type Key, type KeyRing } from '../../../src/ops/core/key-ring.ts'
import { closePlan } from '../../../src/ops/core/plan-changes.ts'
import { cancelPublication } from '../../../src/ops/core/publications.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { Deployment } from '../../../src/ops/store/environment.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { editRecords, emptyDatabase } from '../support/test-database.ts'
import { attribution, importPlans, request, store, storeWithoutCache } from '../support/worker-store.ts'

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })])
})

const nextMinute = () => (Math.floor(Date.now() / 60_000) + 2) * 60
const schedule = async (name: string) =>
  (await closePlan(store, name, 'Sold out.', { ...request, dueAt: nextMinute() })).publication?.id ?? 0

const migrations = env.TEST_MIGRATIONS.map(({ name }) => name)
const key: Key = { kid: `${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}_0a1b2c3d`, use: 'signs' }
const deployed: Store = { ...store, target: { remote: true, env: 'staging' } }
const database = { isReplicated: true, region: 'WEUR', sizeBytes: 1_250_000 }
const secret = { name: 'JWT_KEYS', isLive: true, isEverywhere: true, isKept: true }
const healthy: Deployment = {
  missingBindings: [],
  hasSchedule: true,
  requiredSecrets: ['JWT_KEYS'],
  listSecrets: async () => ['JWT_KEYS', 'OTHER'].map((name) => ({ ...secret, name })),
  readDatabase: async () => database,
}

interface Circumstances {
  on?: Store
  deployment?: Deployment
  known?: string[]
  keys?: Key[]
  nowMs?: () => number
}

function check({ on = store, deployment, known = migrations, keys = [key], nowMs = Date.now }: Circumstances = {}) {
  const keyRing = { list: async () => keys } as unknown as KeyRing
  return examine(on, { migrations: known, deployment }, keyRing, { nowMs })
}

async function findCheck(name: string, circumstances: Circumstances): Promise<HealthCheck[]> {
  return (await check(circumstances)).filter((found) => found.name === name)
}

const others = (checks: HealthCheck[]) => checks.filter(({ name }) => name !== 'publications')
const publications = (checks: HealthCheck[]) => checks.filter(({ name }) => name === 'publications')

test('a healthy deployed environment is one line each', async () => {
  const checks = await check({ on: deployed, deployment: healthy })
  const lines = checks.map(({ level, name, message }) => `${level} ${name}: ${message}`)
  expect(lines).toEqual([
    'ok bindings: wrangler.toml has all of them for [env.staging].',
    `ok migrations: all ${migrations.length} applied.`,
    'ok database: 1.3 MB, runs in WEUR, read replication is on.',
    "ok clock: This machine's clock agrees with D1's.",
    'ok catalog: 2 plans, listed in 1 country.',
    'ok import: none in the record.',
    'ok publications: 0 scheduled, 0 waiting for approval, none overdue, none conflicted.',
    'ok cache: KV answers.',
    'ok secrets: The Worker has JWT_KEYS.',
    `ok keys: ${key.kid} signs and is 0 days old, 0 more verify.`,
  ])
})

test('a local state needs no deployment', async () => {
  const checks = await check()
  expect(checks.every(({ level }) => level === 'ok')).toBe(true)
  expect(checks.map(({ name }) => name)).not.toContain('database')
})

describe('names what must be fixed, and how', () => {
  const flags = '--remote --env staging'
  const rotate = `npm run -s ops -- keys rotate ${flags}`
  const down = () => Promise.reject(new UserError('Cloudflare refuses the token (403): x. Check it.'))
  const old: Key = { kid: '20240101T000000Z_0a1b2c3d', use: 'signs' }
  const days = Math.floor((Date.now() - Date.parse('2024-01-01')) / 86_400_000)

  test.each<[string, Circumstances, HealthCheck['level'], string]>([
    [
      'bindings',
      { deployment: { ...healthy, missingBindings: ['AUTH_RATE_LIMIT', 'USAGE'], hasSchedule: false } },
      'problem',
      '[env.staging] in wrangler.toml lacks AUTH_RATE_LIMIT, USAGE, a Cron Trigger. Add it there, and deploy.',
    ],
    [
      'migrations',
      { known: [...migrations, '0099_new.sql'] },
      'problem',
      `0099_new.sql not applied. Run: npm run -s migrate -- ${flags}`,
    ],
    [
      'migrations',
      { known: migrations.slice(0, -1) },
      'warning',
      `This checkout lacks ${migrations.at(-1)}, which is applied. Update it before you change data.`,
    ],
    [
      'database',
      {
        deployment: { ...healthy, readDatabase: async () => ({ ...database, isReplicated: false, region: undefined }) },
      },
      'problem',
      '1.3 MB, Cloudflare does not say where it is. Read replication is off: distant partners wait for it. Run: npm run provision -- --env staging',
    ],
    [
      'database',
      { deployment: { ...healthy, readDatabase: async () => ({ ...database, sizeBytes: 5e9 }) } },
      'problem',
      "It has 5000.0 MB of D1's 10 GB. Plan a new database: the record of the catalog only grows.",
    ],
    [
      'database',
      { deployment: { ...healthy, readDatabase: down } },
      'problem',
      'Cloudflare refuses the token (403): x. Check it.',
    ],
    ['cache', { on: { ...storeWithoutCache, target: deployed.target } }, 'problem', 'KV is down.'],
    [
      'secrets',
      { deployment: { ...healthy, listSecrets: async () => [] } },
      'problem',
      `The Worker lacks JWT_KEYS: it is not deployed, or can't sign. Run: ${rotate}`,
    ],
    [
      'secrets',
      { deployment: { ...healthy, listSecrets: async () => [{ ...secret, isEverywhere: false }] } },
      'problem',
      "The Worker lacks JWT_KEYS: it is not deployed, or can't sign. Run: npm run deploy -- --env staging",
    ],
    [
      'secrets',
      { deployment: { ...healthy, listSecrets: down } },
      'problem',
      'Cloudflare refuses the token (403): x. Check it.',
    ],
    [
      'keys',
      { keys: [], deployment: { ...healthy, listSecrets: async () => [] } },
      'problem',
      `No key signs tokens. Run: ${rotate}`,
    ],
    [
      'keys',
      { keys: [] },
      'warning',
      `JWT_KEYS was set by other means, so its age is not known. To replace it, run: ${rotate}`,
    ],
    [
      'keys',
      { keys: [old] },
      'warning',
      `The key that signs, ${old.kid}, is ${days} days old: replace it once a year, also when nobody knows of a leak. Run: ${rotate}`,
    ],
    [
      'keys',
      { keys: [{ kid: 'by-hand', use: 'signs' }] },
      'warning',
      `The ID of the key that signs, by-hand, does not say how old it is. Run: ${rotate}`,
    ],
    [
      'keys',
      { keys: [key, { kid: 'next', use: 'waits' }] },
      'warning',
      `The rotation to next was interrupted, ${key.kid} signs. Run: ${rotate}`,
    ],
    [
      'keys',
      { keys: [key, { kid: 'back', use: 'verifies', endsWithDeploy: true }] },
      'warning',
      'The latest version of the Worker lacks the key back, so the next deploy drops it: npm run deploy -- --env staging',
    ],
    [
      'keys',
      { keys: [key, { kid: 'later', use: 'verifies', startsWithDeploy: true }] },
      'warning',
      `The version of the Worker that is live is not the latest: the key later verifies tokens from the next deploy on. Deploy: npm run deploy -- --env staging; then, to drop it: npm run -s ops -- keys drop later ${flags}`,
    ],
    [
      'keys',
      {
        keys: [{ kid: 'later', use: 'signs', startsWithDeploy: true }],
        deployment: { ...healthy, listSecrets: async () => [] },
      },
      'problem',
      `No key signs tokens. Run: ${rotate}`,
    ],
  ])('%s %#', async (name, circumstances, level, message) => {
    const found = await findCheck(name, { on: deployed, deployment: healthy, ...circumstances })
    expect(found).toEqual([{ name, level, message }])
  })

  test.each<[number, HealthCheck['level'], RegExp]>([
    [90, 'problem', /^This machine's clock is (89|90) s ahead of D1's\. Set it\.$/],
    [-90, 'problem', /^This machine's clock is (89|90) s behind D1's\. Set it\.$/],
    [-30, 'ok', /^This machine's clock is (29|30) s behind D1's\.$/],
  ])('a clock that is %i s off', async (seconds, level, message) => {
    const found = await findCheck('clock', { nowMs: () => Date.now() + seconds * 1000 })
    expect(found).toEqual([{ name: 'clock', level, message: expect.stringMatching(message) }])
  })
})

test('a dropped key that verifies again is a problem', async () => {
  const dropped: Key = { kid: 'LEAKED', use: 'verifies' }
  const ring = { drop: async () => {} } as unknown as KeyRing
  await dropKey(ring, store, attribution, dropped)
  const message = expect.stringMatching(
    /^The key LEAKED was dropped at \S+, and verifies tokens again\. Drop it again: /,
  )
  expect(await findCheck('keys', { keys: [key, dropped] })).toEqual([{ name: 'keys', level: 'problem', message }])
  expect(await findCheck('keys', {})).toMatchObject([{ level: 'ok' }])
})

test('a dropped key that a rollback brought back ends with the next deploy', async () => {
  const dropped: Key = { kid: 'LEAKED', use: 'verifies', endsWithDeploy: true }
  await dropKey({ drop: async () => {} } as unknown as KeyRing, store, attribution, dropped)
  const message = expect.stringMatching(
    /^The key LEAKED was dropped at \S+, and verifies tokens again\. The latest version of the Worker lacks the key LEAKED, so the next deploy drops it: npm run deploy -- --env staging$/,
  )
  const circumstances = { on: deployed, deployment: healthy, keys: [key, dropped] }
  expect(await findCheck('keys', circumstances)).toEqual([{ name: 'keys', level: 'problem', message }])
})

test('a catalog that no country lists is a problem', async () => {
  await env.DB.exec('delete from plan_viewability')
  const run = 'every list is empty. Run: npm run -s ops -- catalog import FILE'
  expect(await findCheck('catalog', {})).toEqual([
    { name: 'catalog', level: 'problem', message: `No country lists any of its 2 plans: ${run}` },
  ])
  await emptyDatabase(env)
  expect(await findCheck('catalog', {})).toEqual([
    { name: 'catalog', level: 'problem', message: `It is empty: ${run}` },
  ])
})

test('names the last import', async () => {
  await env.DB.exec(`update publications set command = 'catalog import plans.json'`)
  await editRecords(env.DB, 'update publication_entries set made_at = 600')
  await closePlan(store, 'plan-1', 'Sold out.', request)
  const [{ message } = { message: '' }] = await findCheck('import', {})
  expect(message).toMatch(/^the last one is publication \d+, by amina@example\.com at 1970-01-01T00:10:00Z\.$/)
})

test('an empty database only lacks its migrations', async () => {
  const query = env.DB.prepare('select name from d1_migrations')
  const { results } = await query.all<{ name: string }>()
  await env.DB.exec('alter table d1_migrations rename to hidden')
  try {
    const checks = await check()
    expect(checks).toMatchObject([{ name: 'migrations', level: 'problem' }, { name: 'cache' }, { name: 'keys' }])
    expect(checks[0]?.message).toContain(results.map(({ name }) => name).join(', '))
  } finally {
    await env.DB.exec('alter table hidden rename to d1_migrations')
  }
})

test('nothing needs a fix while publications wait for their time', async () => {
  await schedule('plan-1')
  expect(publications(await check())).toEqual([
    {
      name: 'publications',
      level: 'ok',
      message: '1 scheduled, 0 waiting for approval, none overdue, none conflicted.',
    },
  ])
})

test('names a scheduled publication whose plan was changed meanwhile', async () => {
  const doomed = await schedule('plan-1')
  await closePlan(store, 'plan-1', 'Paused.', request)
  const checks = await check()
  expect(publications(checks)).toEqual([
    {
      name: 'publications',
      level: 'problem',
      message: `Publication ${doomed} will conflict: publication ${doomed + 1} changed plan 1 meanwhile. Cancel it, and make its change again: npm run -s ops -- catalog cancel ${doomed}`,
    },
  ])
  expect(others(checks).every(({ level }) => level === 'ok')).toBe(true)
})

test('names publications that are overdue, and those that conflicted until they are cancelled', async () => {
  const [late, conflicted] = [await schedule('plan-1'), await schedule('plan-2')]
  await env.DB.prepare('update publications set due_at = 600 where id = ?').bind(late).run()
  const ending = { kind: 'conflicted', actor: 'schedule', note: 'a plan was changed', isPublishing: false } as const
  await decide(store, { publicationId: conflicted, ...ending })
  expect(publications(await check())).toEqual([
    {
      name: 'publications',
      level: 'problem',
      message: `Publication ${late} was due at 1970-01-01T00:10:00Z: the schedule does not run. Check the Cron Trigger, or locally start npm run dev.`,
    },
    {
      name: 'publications',
      level: 'problem',
      message: `Publication ${conflicted} was not published: a plan was changed. See: npm run -s ops -- catalog show ${conflicted}; make the change again, then: npm run -s ops -- catalog cancel ${conflicted}`,
    },
  ])
  for (const id of [late, conflicted]) await cancelPublication(store, id, request.attribution)
  expect(publications(await check())).toMatchObject([{ level: 'ok' }])
})
