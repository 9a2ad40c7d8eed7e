import { beforeEach, describe, expect, test } from 'vitest'
import { insertKeyChange } from '../../../../src/db/partner-changes.ts'
import { endAsConflicted } from '../../../../src/db/publish.ts'
import { runDoctorChecks, runDeployChecks } from '../../../../src/ops/core/service/doctor.ts'
import { dropKey } from '../../../../src/ops/core/keys/key-ring.ts'
import { cancelPublication } from '../../../../src/ops/core/publications/publications.ts'
import { CloudflareError } from '../../../../src/ops/store/failure.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import type { SecretNames } from '../../../../src/ops/store/worker-secrets.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { withoutDatabase } from '../../support/binding-store.ts'
import { migrationFiles } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import {
  attribution,
  emptyStores,
  env,
  importPlans,
  interruptedStore,
  request,
  store,
  storeWithoutCache,
} from '../../support/memory-store.ts'
import { closePlan, setFields } from '../../support/publish-prepared.ts'

beforeEach(async () => {
  await emptyStores()
  const performanceDate = new Date().toISOString().slice(0, 10)
  await importPlans([1, 2].map((id) => makePlan({ id, name: `Name ${id}`, coolName: `Cool ${id}`, performanceDate })))
  for (const recorded of [kid, old, later]) {
    const change = { ...attribution, requestId: crypto.randomUUID() }
    await insertKeyChange(store.db, change, 'keys-rotate', recorded)
  }
})

const nextMinute = () => (Math.floor(Date.now() / 60_000) + 2) * 60
const schedule = async (name: string, note = 'Sold out.') =>
  (await closePlan(store, name, note, { ...request, dueAt: nextMinute() })).publication?.id ?? 0

const migrations = migrationFiles
const deployed: Store = { ...store, target: { remote: true, env: 'staging' } }
const [kid, old, later] = [String(Math.floor(Date.now() / 1000)), '1704067200', '2000000000']
/** @param latest the keys of the latest version, when another one is live. */
const makeSecrets = (live: string[], latest = live): SecretNames => ({
  live: live.map((one) => `JWT_KEY_${one}`),
  latest: latest.map((one) => `JWT_KEY_${one}`),
})
const askIfReplicated = async () => true

interface Circumstances {
  on?: Store
  askIfReplicated?: () => Promise<boolean>
  known?: string[]
  secrets?: SecretNames | (() => Promise<never>)
  /** Changes the database first. */
  prepare?: () => Promise<unknown>
}

/** @returns what doctor says, as a line for each finding. */
async function check({
  on = store,
  askIfReplicated: replication,
  known = migrations,
  secrets = { live: [`JWT_KEY_${kid}`, 'OTHER'], latest: [`JWT_KEY_${kid}`] },
  prepare = async () => {},
}: Circumstances = {}) {
  await prepare()
  const list = typeof secrets === 'function' ? secrets : async () => secrets
  const environment = { migrations: known, secrets: { list }, ...(replication && { askIfReplicated: replication }) }
  const checks = await runDoctorChecks(on, environment, { nowMs: Date.now }, true)
  return checks.map(({ level, name, message }) => `${level} ${name}: ${message}`)
}

const findLines = async (name: string, circumstances: Circumstances = {}) =>
  (await check(circumstances)).filter((line) => line.split(/[ :]/)[1] === name)

test('a deploy is refused for a migration or a key; a key of the latest version is enough', async () => {
  const find = (known: string[], secrets: SecretNames) =>
    runDeployChecks(deployed, { migrations: known, secrets: { list: async () => secrets } })
  expect(await find(migrations, makeSecrets([], [kid]))).toEqual({ obstacles: [], warnings: [] })
  expect(await find([...migrations, '0099_new.sql'], makeSecrets([kid, later], [later]))).toEqual({
    obstacles: [expect.stringMatching(/^0099_new\.sql not applied\. Run: /), `${noKey} ${rotate}`],
    warnings: [],
  })
})

/** The lines that are not ok. */
const findMistakes = async (circumstances: Circumstances = {}) =>
  (await check(circumstances)).filter((line) => !line.startsWith('ok '))

test('a local state needs no deployment, and no entry of its key', async () => {
  expect(await findMistakes({ secrets: makeSecrets(['1790000000']) })).toEqual([])
  expect((await check()).filter((line) => line.startsWith('ok database'))).toEqual([])
})

const flags = '--remote --env staging'
const rotate = `npm run -s ops -- keys rotate ${flags}`
const unlisted = `problem catalog: No country lists a plan. To import plans: npm run -s ops -- catalog import FILE ${flags}; to put a plan on a list: npm run -s ops -- plan offer --help ${flags}`
const down = () => Promise.reject(new CloudflareError('Cloudflare answered 500: x.', { kind: 'unknown' }))
const days = Math.floor((Date.now() - Date.parse('2024-01-01')) / 86_400_000)
const noKey = 'The Worker has no signing key, or each key signs only later. Run:'

test.each<[string, Circumstances]>([
  [
    `problem migrations: 0099_new.sql not applied. Run: npm run migrate -- ${flags}`,
    { known: [...migrations, '0099_new.sql'] },
  ],
  [
    `warning migrations: This checkout lacks ${migrations.at(-1)}, which the database has. Update the checkout before you change data.`,
    { known: migrations.slice(0, -1) },
  ],
  [
    'problem database: Read replication is off: partners far from the database get slow answers. See "The first deploy" in src/worker/DEPLOY.md.',
    { askIfReplicated: async () => false },
  ],
  ['problem database: Cloudflare answered 500: x.', { askIfReplicated: down }],
  [unlisted, { prepare: () => env.DB.exec(`update plan_versions set viewable_in = '[]'`) }],
  [unlisted, { prepare: emptyStores }],
  ['problem cache: KV is down.', { on: { ...storeWithoutCache, target: deployed.target } }],
  [`problem keys: ${noKey} ${rotate}`, { secrets: makeSecrets([later]) }],
  ['problem keys: Cloudflare answered 500: x.', { secrets: down }],
  [
    `warning keys: The key that signs, ${old}, is ${days} days old: replace it once a year, even without a known leak. Run: ${rotate}`,
    { secrets: makeSecrets([old]) },
  ],
  [
    'warning keys: The secret JWT_KEYS is no key: its name is not JWT_KEY_ and ten digits. Delete the secret.',
    { secrets: { live: [`JWT_KEY_${kid}`, 'JWT_KEYS'], latest: [`JWT_KEY_${kid}`] } },
  ],
  [
    `warning keys: The key 1600000000 is not in the record. If keys drop --leaked made it, run: npm run -s ops -- keys record 1600000000 ${flags}. If nobody knows who set it, run: npm run -s ops -- keys drop 1600000000 --leaked ${flags}`,
    { secrets: makeSecrets([kid, '1600000000']) },
  ],
  [
    `warning keys: The next deploy changes the keys from ${kid} to ${kid}, ${old}. Run: npm run deploy -- --env staging`,
    { secrets: makeSecrets([kid], [old, kid]) },
  ],
])('%s', async (line, circumstances) => {
  const [, name = ''] = line.split(/[ :]/)
  expect(await findLines(name, { on: deployed, askIfReplicated, ...circumstances })).toEqual([line])
})

describe('while D1 fails', () => {
  const failing = (error: Error) => check({ on: withoutDatabase(deployed, error), askIfReplicated })
  const rest = [
    'ok database: Read replication is on.',
    'ok cache: KV answers.',
    `ok keys: ${kid} signs and is 0 days old. Other keys: 0.`,
  ]
  const partners =
    'warning partners: If D1 fails for the Worker, too, partners list plans and get tokens from copies that are up to 30 hours old. A new secret, or a partner without a copy, gets 503. partner suspend and partner lockdown still end the access of a partner. See "D1 is down" in src/worker/ONCALL.md.'

  test.each([
    ['unknown' as const, [partners]],
    ['busy' as const, [partners]],
    ['refused' as const, []],
  ])(
    'the other checks are made, and it says what partners get, unless the call was refused: %s',
    async (kind, more) => {
      expect(await failing(new CloudflareError('Cloudflare answered 500: x.', { kind }))).toEqual([
        'problem migrations: Cloudflare answered 500: x. Nothing in the database could be checked.',
        ...more,
        ...rest,
      ])
    },
  )

  test('for one check, the others are made', async () => {
    const on = interruptedStore(down, /"viewable_in" <>/)
    expect(await findMistakes({ on })).toEqual(['problem catalog: Cloudflare answered 500: x.'])
    expect(await check({ on })).toHaveLength((await check()).length)
  })

  test('a bug is no finding', async () => {
    await expect(failing(new TypeError('x is not a function'))).rejects.toThrow(TypeError)
  })
})

test('after a rollback, a key that was dropped and one that is missing are named with their fix', async () => {
  await dropKey(createMemorySecrets(), store, attribution, old)
  const secrets = makeSecrets([later, old], [kid])
  expect(await findLines('keys', { on: deployed, askIfReplicated, secrets })).toEqual([
    `problem keys: The record says that the key ${old} was dropped, but it is in use. Drop it again: npm run -s ops -- keys drop ${old} --leaked ${flags}`,
    `warning keys: The next deploy changes the keys from ${later}, ${old} to ${kid}. Run: npm run deploy -- --env staging`,
  ])
  expect(await findLines('keys', { on: deployed, askIfReplicated, secrets: makeSecrets([], [kid]) })).toEqual([
    `problem keys: ${noKey} npm run deploy -- --env staging`,
    `warning keys: The next deploy changes the keys from none to ${kid}. Run: npm run deploy -- --env staging`,
  ])
})

test('an empty database only lacks its migrations', async () => {
  await env.DB.exec('alter table d1_migrations rename to hidden')
  try {
    const lines = await check()
    expect(lines.map((line) => line.split(':')[0])).toEqual(['problem migrations', 'ok cache', 'ok keys'])
    for (const name of migrations) expect(lines[0]).toContain(name)
  } finally {
    await env.DB.exec('alter table hidden rename to d1_migrations')
  }
})

test.each([
  `update plan_versions set viewable_in = '["UG"]' where plan_id = 2`,
  `delete from plan_versions where plan_id = 2`,
  `insert into plan_versions select publication_id, base_revision, 3, null, null, hash, 0 from plan_versions limit 1`,
])('names a publication whose plans were changed: %s', async (statement) => {
  await env.DB.exec(statement)
  const [id] = await env.DB.prepare('select id from publications').raw()
  expect(await findLines('record')).toEqual([
    `problem record: The plans of publication ${String(id)} were changed after it was made, or are not complete. See "nightly" in src/worker/ONCALL.md.`,
  ])
})

describe('publications', () => {
  const find = () => findLines('publications')
  const command = 'npm run -s ops -- catalog'

  test('that wait for their time need no fix', async () => {
    await schedule('plan-1')
    expect(await find()).toEqual([
      'ok publications: 1 scheduled, 0 waiting for approval, none overdue, none conflicted.',
    ])
  })

  test('are named with all earlier publications that they conflict with: republished, they would conflict again', async () => {
    const ids: number[] = []
    for (const assignments of [['hint=One'], ['about=One'], ['hint=Two', 'about=Two']]) {
      const { publication } = await setFields(store, 'plan-1', assignments, { ...request, dueAt: nextMinute() })
      ids.push(publication?.id ?? 0)
    }
    const [first, second, third] = ids
    expect(await findMistakes()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^problem publications: Publication ${third} will conflict: publication ${first}, ${second} changes .* To cancel what causes this: ${command} cancel ${first}, then ${command} cancel ${second}; to cancel publication ${third}: ${command} cancel ${third}$`,
        ),
      ),
    ])
  })

  test('whose plan was changed meanwhile are named, and not blamed on an earlier one', async () => {
    const doomed = await schedule('plan-1')
    await closePlan(store, 'plan-1', 'Paused.', request)
    await closePlan(store, 'plan-1', 'Full.', { ...request, dueAt: nextMinute() - 30 })
    expect(await findMistakes()).toEqual([
      expect.stringMatching(
        `^problem publications: Publication ${doomed} will conflict: others changed nonInvestableNote .* again: ${command} redo ${doomed}; to cancel publication ${doomed}: ${command} cancel ${doomed}$`,
      ),
    ])
  })

  test('that are overdue are named, and those that conflicted until they are cancelled', async () => {
    const [late, conflicted] = [await schedule('plan-1'), await schedule('plan-2')]
    await env.DB.prepare('update publications set due_at = 600 where id = ?').bind(late).run()
    const decision = { publicationId: conflicted, actor: 'schedule', note: null }
    await endAsConflicted(store.db, decision, 'a plan was changed')
    expect(await find()).toEqual([
      `problem publications: Publication ${late} was due at 1970-01-01T00:10:00Z: the schedule did not publish it. Start npm run dev. To publish it now: ${command} redo ${late}`,
      `problem publications: Publication ${conflicted} was not published: a plan was changed. To make it again: ${command} redo ${conflicted}; to cancel it: ${command} cancel ${conflicted}`,
    ])
    for (const id of [late, conflicted]) await cancelPublication(store, id, request.attribution)
    expect(await find()).toEqual([expect.stringMatching(/^ok /)])
  })
})
