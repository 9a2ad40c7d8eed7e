import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { endPublication } from '../../../src/db/publish.ts'
import { examine } from '../../../src/ops/core/doctor.ts'
import { closePlan } from '../../../src/ops/core/plan-changes.ts'
import { cancelPublication } from '../../../src/ops/core/publications.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { importPlans, request, store } from '../support/worker-store.ts'

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })])
})

const nextMinute = () => (Math.floor(Date.now() / 60_000) + 2) * 60
const schedule = async (name: string) =>
  (await closePlan(store, name, 'Sold out.', { ...request, dueAt: nextMinute() })).publication?.id ?? 0

test('nothing needs a fix while publications wait for their time', async () => {
  await schedule('plan-1')
  expect(await examine(store)).toEqual([
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
  expect(await examine(store)).toEqual([
    {
      name: 'publications',
      level: 'problem',
      message: `Publication ${doomed} will conflict: publication ${doomed + 1} changed plan 1 meanwhile. Cancel it, and make its change again: npm run -s ops -- catalog cancel ${doomed}`,
    },
  ])
})

test('names publications that are overdue, and those that conflicted until they are cancelled', async () => {
  const [late, conflicted] = [await schedule('plan-1'), await schedule('plan-2')]
  await env.DB.prepare('update publications set due_at = 600 where id = ?').bind(late).run()
  await endPublication(store.db, conflicted, 'conflicted', { endedBy: 'schedule', endNote: 'a plan was changed' })
  expect(await examine(store)).toEqual([
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
  expect(await examine(store)).toMatchObject([{ level: 'ok' }])
})
