// The catalog as it was, exact to the second.
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import { findPlanAt, listPlansAt } from '../../../src/ops/core/catalog-history.ts'
import { prepareImport } from '../../../src/ops/core/catalog-import.ts'
import { listPlans } from '../../../src/ops/core/catalog-plans.ts'
import { closePlan, openPlan, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { listPublications } from '../../../src/ops/core/publication-log.ts'
import { prepareUndo } from '../../../src/ops/core/publication-undo.ts'
import { prunePublicationsBefore, publishChange, outdateLists } from '../../../src/ops/core/publications.ts'
import { UserError } from '../../../src/ops/core/user-error.ts'
import { makePlan } from '../../support/make-plan.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { fetchToken, requestPlans } from '../../worker/support/requests.ts'
import { seedPartner } from '../../worker/support/seed.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, importPlans, request, store } from '../support/worker-store.ts'

beforeEach(() => emptyDatabase(env))

const plans = [1, 2, 3].map((id) => makePlan({ id, viewableIn: ['KE', 'UG'] }))

/** Gives the publications the times 1000, 1010, 1020 and so on. */
async function spreadTimes(): Promise<void> {
  await env.DB.prepare(
    `update publications set published_at = 990 + 10 * (
       select count(*) from publications as earlier where earlier.revision <= publications.revision
     ) where revision is not null`,
  ).run()
}

const countPublications = async () =>
  (await env.DB.prepare('select count(*) as count from publications where revision is not null').first(
    'count',
  )) as number

const planId = fc.integer({ min: 1, max: 3 }).map((id) => `plan-${id}`)
const country = fc.constantFrom('KE', 'UG')

/** What operators do. A change that is refused counts as none. */
const action = fc.oneof(
  fc.record({ kind: fc.constant('set-viewable' as const), plan: planId, country, isViewable: fc.boolean() }),
  fc.record({ kind: fc.constant('close' as const), plan: planId, note: fc.constantFrom('Sold out.', 'Paused.') }),
  fc.record({ kind: fc.constant('open' as const), plan: planId }),
  fc.record({
    kind: fc.constant('import' as const),
    ids: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1 }),
    name: fc.constantFrom('A', 'B'),
    isPruning: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('undo' as const), back: fc.nat(3) }),
  fc.record({ kind: fc.constant('invalidate' as const) }),
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

async function perform(step: Action): Promise<void> {
  if (step.kind === 'set-viewable') await setViewable(store, step.plan, step, request)
  else if (step.kind === 'close') await closePlan(store, step.plan, step.note, request)
  else if (step.kind === 'open') await openPlan(store, step.plan, request)
  else if (step.kind === 'invalidate') await outdateLists(store, attribution)
  else if (step.kind === 'import') {
    await importPlans(
      step.ids.map((id) => makePlan({ id, name: step.name })),
      step.isPruning,
    )
  } else {
    const id = (await env.DB.prepare('select max(id) as id from publications').first<number>('id')) ?? 0
    await publishChange(store, await prepareUndo(store, id - step.back), { ...request, undoneId: id - step.back })
  }
}

test('as-of equals what the endpoint returned then, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (history) => {
      await emptyDatabase(env)
      // KV still holds the lists of the database before.
      await outdateLists(store, attribution)
      const partners = [await seedPartner('KE'), await seedPartner('UG')]
      const tokens = await Promise.all(partners.map((partner) => fetchToken(partner)))
      const readLists = async () => {
        const lists: Record<string, Plan[]> = {}
        for (const [index, { shortName, country: code }] of partners.entries()) {
          // Without memory. KV may hold older lists, which the revision outdates.
          startNewIsolate()
          const response = await requestPlans({ shortName, token: tokens[index] ?? '' })
          const { data } = await response.json<{ data: { plans: Plan[] } }>()
          lists[code] = data.plans
        }
        return lists
      }
      const seen: { publications: number; lists: Record<string, Plan[]> }[] = [
        { publications: await countPublications(), lists: await readLists() },
      ]
      await importPlans(plans)
      seen.push({ publications: await countPublications(), lists: await readLists() })
      for (const step of history) {
        await perform(step).catch((error: unknown) => {
          if (!(error instanceof UserError)) throw error
        })
        seen.push({ publications: await countPublications(), lists: await readLists() })
      }
      await spreadTimes()
      for (const { publications, lists } of seen) {
        for (const atSeconds of [990 + 10 * publications, 999 + 10 * publications]) {
          for (const [code, list] of Object.entries(lists)) {
            const found = await listPlansAt(store, atSeconds, code)
            expect(found.map(({ viewableIn: _viewableIn, ...plan }) => plan)).toEqual(list)
          }
        }
      }
    }),
    { numRuns: 6 },
  )
})

test('findPlanAt returns a plan as it was, also one that is gone', async () => {
  await importPlans(plans)
  await closePlan(store, 'plan-2', 'Sold out.', request)
  await importPlans(plans.slice(0, 1), true)
  await spreadTimes()
  expect(await findPlanAt(store, 'plan-2', 1009)).toEqual(plans[1])
  expect(await findPlanAt(store, '2', 1010)).toMatchObject({ nonInvestableNote: 'Sold out.' })
  const gone = 'There was no plan "plan-2" at 1970-01-01T00:17:00Z. See: npm run -s ops -- catalog log'
  await expect(findPlanAt(store, 'plan-2', 1020)).rejects.toThrow(new UserError(gone))
})

test('findPlanAt never returns another plan that had the same ID', async () => {
  await importPlans(plans)
  const other = makePlan({ id: 1, identifier: 'other' })
  await publishChange(store, await prepareImport(store, { plans: [other] }, { isFresh: true }), request)
  await spreadTimes()
  expect(await findPlanAt(store, 'plan-1', 1000)).toEqual(plans[0])
  expect(await findPlanAt(store, 'other', 1010)).toEqual(other)
  expect(await findPlanAt(store, '1', 1010)).toEqual(other)
  await expect(findPlanAt(store, 'plan-1', 1010)).rejects.toThrow('There was no plan "plan-1"')
})

test('a time in the future is refused', async () => {
  await expect(listPlansAt(store, 4e9)).rejects.toThrow(
    /^--at 2096-10-02T07:06:40Z is in the future: it is .* past time\.$/,
  )
})

test('a time before a migration recorded the catalog is refused; without plans then, it was empty', async () => {
  expect(await listPlansAt(store, 1000)).toEqual([])
  await importPlans(plans)
  await spreadTimes()
  expect(await listPlansAt(store, 999)).toEqual([])
  await env.DB.prepare('update publications set plans_hash = null').run()
  await expect(listPlansAt(store, 999)).rejects.toThrow(
    new UserError(
      'The record of the catalog starts at 1970-01-01T00:16:40Z: earlier changes were pruned, or not recorded. Name a later time.',
    ),
  )
})

test('pruning keeps what is needed for the time after', async () => {
  await importPlans(plans)
  await closePlan(store, 'plan-1', 'Sold out.', request)
  await importPlans(
    [makePlan({ ...plans[0], isInvestable: false, nonInvestableNote: 'Sold out.' }), ...plans.slice(1, 2)],
    true,
  )
  await openPlan(store, 'plan-1', request)
  await spreadTimes()
  const times = [1020, 1029, 1030]
  const before = await Promise.all(times.map((time) => listPlansAt(store, time)))
  const size = async () => env.DB.prepare('select count(after) as count from publication_plans').first('count')
  expect(await size()).toBe(3 + 1 + 0 + 1)

  // The second and third have only plans that still count.
  expect(await prunePublicationsBefore(store, 1025, request.attribution)).toBe(1)
  expect(await prunePublicationsBefore(store, 1025, request.attribution)).toBe(0)
  expect(await Promise.all(times.map((time) => listPlansAt(store, time)))).toEqual(before)
  expect(await listPlans(store)).toEqual(plans.slice(0, 2))
  // Left: plan 1 as it was closed and as it was opened, and plan 2. Not even a removal needs its plan.
  expect(await size()).toBe(3)
  // Each publication still lists its plans.
  expect(await listPublications(store, { plan: '1' })).toHaveLength(3)
  await expect(listPlansAt(store, 999)).rejects.toThrow('The record of the catalog starts at 1970-01-01T00:16:40Z')
})

test('pruning refuses a future time, and a time without an earlier publication', async () => {
  await importPlans(plans)
  await expect(prunePublicationsBefore(store, 4e9, request.attribution)).rejects.toThrow('--before is in the future.')
  await expect(prunePublicationsBefore(store, 10, request.attribution)).rejects.toThrow(
    'There is no publication before 1970-01-01T00:00:10Z. Nothing was changed.',
  )
  expect(await countPublications()).toBe(1)
})
