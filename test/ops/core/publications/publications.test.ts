import { beforeEach, describe, expect, test } from 'vitest'
import { requirePlan, listPlans } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { prepareImport } from '../../../../src/ops/core/catalog/catalog-import.ts'
import { describeObstacle } from '../../../../src/catalog/fit.ts'
import { endAsConflicted, selectDuePublications } from '../../../../src/db/publish.ts'
import { pendingStates } from '../../../../src/db/schema.ts'
import { deleteAbandonedPublications } from '../../../../src/db/stage-publication.ts'
import { listDoubts, makeProposal } from '../../../../src/ops/core/publications/proposal.ts'
import {
  listPublications,
  requirePublicationWithChanges,
} from '../../../../src/ops/core/publications/publication-log.ts'
import { prepareRedo, prepareUndo } from '../../../../src/ops/core/publications/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  requirePublication,
} from '../../../../src/ops/core/publications/publications.ts'
import { CloudflareError } from '../../../../src/ops/store/failure.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { publishAs } from '../../../support/publish-plans.ts'
import {
  careful,
  emptyStores,
  env,
  importPlans,
  interruptedStore,
  interceptChanges,
  loseAnswer,
  request,
  store,
} from '../../support/memory-store.ts'
import { closePlan, publishChange, setFields } from '../../support/publish-prepared.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['UG'] })
const amina = request.attribution
const boris = { actor: 'boris@example.com', command: 'test', note: 'Checked.' }
const soldOut = { isInvestable: false, nonInvestableNote: 'Sold out.' }

let first = 0

beforeEach(async () => {
  await emptyStores()
  await importPlans([cash, gold])
  first = (await listPublications(store, {}))[0]?.id ?? 0
})

const close = async (name = 'cash', on = store, dueAt?: number) => {
  const { publication, plan } = await closePlan(on, name, 'Sold out.', { ...request, dueAt })
  if (!publication) throw new Error('nothing was published')
  if (publication.state === 'published') expect(await requirePlan(store, name)).toEqual(plan)
  return publication
}
const setHint = async (name: string, hint: string) =>
  (await setFields(store, name, [`hint=${hint}`], request)).publication?.id ?? 0
const undo = async (id: number, ...plans: string[]) =>
  publishChange(store, await prepareUndo(store, id, plans[0] ? { plans } : {}), request)
const nextMinute = () => (Math.floor(Date.now() / 60_000) + 2) * 60

describe('the log', () => {
  test('lists who changed what, when and why, the latest first, also of a plan that is gone', async () => {
    const { id } = await close()
    const rows = await listPublications(store, {})
    expect(rows.map((row) => row.id)).toEqual([id, first])
    expect(rows[0]).toMatchObject({ state: 'published', actor: amina.actor, command: 'test', planCount: 1 })
    expect(await listPublications(store, { plan: 'gold' })).toHaveLength(1)
    expect(await listPublications(store, { plan: '1' })).toHaveLength(2)
    expect(await listPublications(store, { since: Math.floor(Date.now() / 1000) + 60 })).toEqual([])
    await expect(listPublications(store, { plan: 'nothing' })).rejects.toThrow('"nothing"')
    await importPlans([gold], true)
    expect(await listPublications(store, { plan: 'cash' })).toHaveLength(3)
  })

  test('of a time lists what was made, approved or decided in it', async () => {
    const { id } = await close('cash', careful, nextMinute())
    const expectLast = async (column: string, seconds: number) => {
      await env.DB.prepare(`update publications set ${column} = ? where id = ?`).bind(seconds, id).run()
      await env.DB.prepare('update publications set created_at = 1, decided_at = 1 where id <> ?').bind(id).run()
      expect(await listPublications(store, { since: seconds, until: seconds })).toMatchObject([{ id }])
      expect(await listPublications(store, { since: seconds + 1 })).toEqual([])
      expect(await listPublications(store, { since: seconds - 1, until: seconds - 1 })).toEqual([])
    }
    await expectLast('created_at', 100)
    await approvePublication(careful, id, boris)
    await expectLast('approved_at', 200)
    await cancelPublication(careful, id, boris)
    await expectLast('decided_at', 300)
  })
})

describe('undo', () => {
  test('takes a publication back with a new one, which can be undone as well', async () => {
    const closed = await close()
    const undone = await undo(closed.id)
    expect(await listPlans(store)).toEqual([cash, gold])
    expect(await requirePublication(store, undone?.id ?? 0)).toMatchObject({ undoneId: closed.id, state: 'published' })
    await expect(undo(closed.id)).rejects.toThrow('is left to take back')
    await undo(undone?.id ?? 0)
    expect((await requirePlan(store, 'cash')).nonInvestableNote).toBe('Sold out.')
  })

  test('leaves later changes of other fields, and is refused with names when the same field was changed', async () => {
    const { id } = await close()
    await setHint('cash', 'Later')
    await undo(id)
    expect(await requirePlan(store, 'cash')).toEqual({ ...cash, hint: 'Later' })
    const hinted = await setHint('cash', 'Latest')
    await expect(undo(hinted - 2)).rejects.toThrow(
      `amina@example.com later set hint of cash to "Latest" (publication ${hinted}).\nTo take the latest change back first: npm run -s ops -- catalog undo ${hinted}`,
    )
  })

  test('takes one plan of a publication back, or all but those that were changed later', async () => {
    const names = ['cash', 'gold'].map((identifier, index) =>
      makePlan({ ...[cash, gold][index], identifier, name: 'New' }),
    )
    await importPlans(names)
    await undo(first + 1, 'cash')
    expect((await listPlans(store)).map(({ name }) => name)).toEqual([cash.name, 'New'])
    await expect(undo(first + 1, 'silver')).rejects.toThrow('"silver"')
    await setFields(store, 'gold', ['name=Later'], request)
    await importPlans([{ ...cash, name: 'New' }])
    await expect(undo(first + 1)).rejects.toThrow('--except-changed')
    const change = await prepareUndo(store, first + 1, { exceptChanged: true })
    expect(change.notes).toMatchObject([expect.stringContaining('name of gold')])
    await publishChange(store, change, request)
    expect((await listPlans(store)).map(({ name }) => name)).toEqual([cash.name, 'Later'])
  })

  test('never changes other plans through an object that they share', async () => {
    const both = [cash, gold].map((plan) => ({ ...plan, productRiskLevel: { id: 5, name: 'High' } }))
    await importPlans(both)
    await expect(undo(first + 1, 'cash')).rejects.toThrow('productRiskLevel.name')
    expect(await listPlans(store)).toEqual(both)
  })

  test('of a scheduled publication is refused', async () => {
    const { id } = await close('cash', store, nextMinute())
    await expect(undo(id)).rejects.toThrow('it is scheduled')
  })
})

test('an undo of a catalog that changes while it is read is computed from one moment', async () => {
  const { id } = await close()
  const dueAt = nextMinute()
  const act = () => setHint('cash', 'Wrong')
  const interrupted = interruptedStore(act, /"superseded" = 0 and "plan_versions"."plan_id" in/)
  const change = await prepareUndo(interrupted, id)
  await undo((await listPublications(store, {}))[0]?.id ?? 0)
  await publishChange(store, change, { ...request, dueAt })
  await runSchedule()
  expect(await requirePlan(store, 'cash')).toEqual(cash)
})

test('a publication conflicts if an earlier one changes the same field, but not if the earlier one conflicts', async () => {
  const [early, late] = [nextMinute(), nextMinute() + 60]
  const { publication } = await setFields(store, 'cash', ['hint=Late'], { ...request, dueAt: late })
  const listConflicts = async () =>
    (await listPublications(store, { states: pendingStates })).map(({ willConflict }) => willConflict)
  expect(await listConflicts()).toEqual([null])
  const before = await close('cash', store, early)
  expect(await listConflicts()).toEqual([null, null])
  await setFields(store, 'cash', ['hint=Early', 'name=New'], { ...request, dueAt: early })
  const reason = expect.stringMatching(`^publication ${before.id + 1} .*hint of cash`)
  expect(await listConflicts()).toEqual([null, null, reason])
  expect((await requirePublicationWithChanges(store, publication?.id ?? 0)).row.willConflict).toEqual(reason)
  await setFields(store, 'cash', ['name=Newer'], request)
  expect(await listConflicts()).toEqual(['others changed name of cash', null, null])
})

describe('a change that a pending publication will conflict with', () => {
  const readWarnings = async (identifier: string, fields: object, id?: number) => {
    const before = await requirePlan(store, identifier)
    const change = { planId: before.id, before, after: { ...before, ...fields } }
    return (await listDoubts(store, { id, dueAt: null }, [change])).warnings
  }

  test('is named with the fields, before it is made', async () => {
    const { id } = await close('cash', store, nextMinute())
    const paused = { isInvestable: false, nonInvestableNote: 'Paused.' }
    expect(await readWarnings('cash', paused)).toEqual([
      `The pending publication ${id} by ${amina.actor} also changes nonInvestableNote of cash. Whichever is published second will fail, and none of its plans will change (plans: 1 in publication ${id}, 1 here).`,
    ])
    expect(await readWarnings('cash', paused, id)).toEqual([])
    expect(await readWarnings('cash', { hint: 'New' })).toEqual([])
    expect(await readWarnings('gold', paused)).toEqual([])
    await setFields(store, 'cash', ['nonInvestableNote=Paused.'], request)
    const willConflict = 'others changed nonInvestableNote of cash'
    expect(await listPublications(store, { states: pendingStates })).toMatchObject([{ id, willConflict }])
  })

  test('is named when the pending one replaces it without a conflict, or would again', async () => {
    const { publication } = await setFields(store, 'cash', ['performance1=13.7'], request)
    const change = await prepareUndo(store, publication?.id ?? 0)
    const scheduled = await publishChange(store, change, { ...request, dueAt: nextMinute() })
    expect(await readWarnings('cash', { performance1: 13.8 })).toEqual([
      expect.stringContaining('none of its plans will change'),
    ])
    await undo(publication?.id ?? 0)
    expect(await readWarnings('cash', { performance1: 13.7 })).toEqual([
      expect.stringMatching(`^Publication ${scheduled?.id} .* performance1 of cash to 13.1, at `),
    ])
    await close('cash', store, nextMinute())
    await setFields(store, 'cash', ['nonInvestableNote=Paused.'], request)
    expect(await readWarnings('cash', { nonInvestableNote: 'Full.' })).toEqual([])
    expect(await readWarnings('cash', { isInvestable: true, nonInvestableNote: null })).toEqual([
      expect.stringContaining('nonInvestableNote of cash to "Sold out.", at '),
    ])
  })

  test('is named when both together would contradict each other, through plans that only one of them changes', async () => {
    const silver = makePlan({ id: 3, identifier: 'silver', category: null })
    await importPlans([silver])
    const schedule = async (plans: CatalogPlan[]) =>
      publishChange(store, await prepareImport(store, { plans }), { ...request, dueAt: nextMinute() })
    const category = { ...cash.category, id: 701, name: 'Cash', displayName: 'Cash', tagLine: 'Save.' }
    const renamed = await schedule([cash, gold].map((plan) => ({ ...plan, category })))
    expect(await readWarnings('silver', { category: cash.category })).toEqual([
      expect.stringMatching(
        `publication ${renamed?.id} by .* none of its plans will change \\(plans: 2 in publication`,
      ),
    ])
    expect(await readWarnings('silver', { category: { ...category, id: 702 } })).toEqual([])
    const added = await schedule([makePlan({ id: 4, identifier: 'new', category: null })])
    const again = {
      planId: 5,
      before: null,
      after: makePlan({ id: 5, identifier: 'new', name: 'New', coolName: 'New', category: null }),
    }
    expect((await listDoubts(store, { id: undefined, dueAt: null }, [again])).warnings).toEqual([
      expect.stringMatching(`publication ${added?.id} by .* for other plans: new\\. `),
    ])
    const withField = (await listPlans(store)).map((before) => ({
      planId: before.id,
      before,
      after: { ...before, fees: 1 },
    }))
    expect((await listDoubts(store, { id: undefined, dueAt: null }, withField)).warnings).toEqual([
      expect.stringMatching(`publication ${added?.id} by .* has plans with other fields than this change\\. `),
    ])
  })
})

describe('with approval', () => {
  test('a publication conflicts when the same field was changed, and can be made again from the record', async () => {
    const { id } = await close('cash', careful)
    await setFields(store, 'cash', ['nonInvestableNote=Paused.', 'hint=Later'], request)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow(`catalog redo ${id}`)
    expect(await requirePublication(store, id)).toMatchObject({
      state: 'conflicted',
      conflict: 'others changed nonInvestableNote of cash',
    })
    await expect(approvePublication(careful, id, boris)).rejects.toThrow(/ it is conflicted\.\n.* catalog redo \d+$/)
    const change = await prepareRedo(store, id)
    expect(change.warnings).toMatchObject([expect.stringContaining('nonInvestableNote')])
    await publishChange(store, change, request)
    expect(await requirePlan(store, 'cash')).toEqual({ ...cash, ...soldOut, hint: 'Later' })
    await expect(prepareRedo(store, id)).rejects.toThrow(`catalog cancel ${id}`)
    await expect(prepareRedo(store, first)).rejects.toThrow('it is published')
  })

  test('the refusal to make one again names the plan of others that contradicts it', async () => {
    await importPlans([makePlan({ id: 3, identifier: 'silver', category: null })])
    const { publication } = await setFields(careful, 'silver', ['category.id=701'], request)
    const category = { ...cash.category, id: 701, name: 'Cash', displayName: 'Cash', tagLine: 'Save.' }
    const change = await prepareImport(store, { plans: [cash, gold].map((plan) => ({ ...plan, category })) })
    const renamed = await publishChange(store, change, { ...request, dueAt: nextMinute() })
    await setHint('cash', 'Overtaken')
    await approvePublication(careful, publication?.id ?? 0, boris)
    const id = renamed?.id ?? 0
    expect((await requirePublicationWithChanges(store, id)).row.willConflict).toContain('category.name of cash')
    for (const choice of [{}, { exceptChanged: true }])
      await expect(makeProposal(store, await prepareRedo(store, id, choice))).rejects.toThrow(
        /^Plan "\w+": category.name: expected .*, as in plan "silver"/,
      )
    await undo(publication?.id ?? 0)
    expect((await prepareRedo(store, id)).changes).toHaveLength(2)
  })

  test('an overdue publication can be made again, and the schedule publishes nothing more of it', async () => {
    const { id } = await close('cash', store, nextMinute())
    expect(await prepareRedo(store, id)).toMatchObject({ dueAt: expect.any(Number) })
    await makeDue()
    expect(await prepareRedo(store, id)).toMatchObject({ dueAt: undefined })
    await publishChange(store, await prepareRedo(store, id), request)
    await setHint('cash', 'Later')
    await runSchedule()
    expect(await requirePlan(store, 'cash')).toEqual({ ...cash, ...soldOut, hint: 'Later' })
  })

  test('any other value of CATALOG_APPROVAL is refused', async () => {
    const wrong = { ...store, config: { CATALOG_APPROVAL: 'yes' } }
    await expect(close('cash', wrong)).rejects.toThrow('CATALOG_APPROVAL')
  })
})

const chidi = { ...amina, actor: 'chidi@example.com' }
const makeDue = () => env.DB.prepare('update publications set due_at = 60 where due_at is not null').run()

async function runSchedule(): Promise<void> {
  await makeDue()
  for (const publicationId of await selectDuePublications(store.db)) {
    const decision = { publicationId, actor: 'schedule', note: null }
    const outcome = await publishAs(store.db, decision, 'due')
    if (outcome.kind === 'conflict') await endAsConflicted(store.db, decision, describeObstacle(outcome.obstacle))
  }
}

const findNewest = async () => (await listPublications(store, {}))[0]?.id ?? 0

/** What others do with the newest publication. */
const others = {
  publish: runSchedule,
  merge: async () => {
    await setHint('cash', 'Later')
    await runSchedule()
  },
  'cause a conflict of': async () => {
    await setFields(store, 'cash', ['nonInvestableNote=Paused.'], request)
    await runSchedule()
  },
  approve: async () => approvePublication(store, await findNewest(), chidi),
  cancel: async () => cancelPublication(store, await findNewest(), chidi),
}

describe('a change whose answer is lost is made, and what became of it is said', () => {
  /** The answer of the first change is lost. Then others act, and it is sent again. */
  const losing = (act: () => Promise<unknown> = async () => {}, on = store) => {
    let isLost = false
    const { db } = interceptChanges(async (call) => {
      if (isLost) return call()
      isLost = true
      await call()
      await act()
      return call()
    })
    return { ...on, db }
  }
  const at = nextMinute()
  const merged = { state: 'published' }
  const ends = [
    ['cause a conflict of', /^Publication \d+ conflicted, .* nonInvestableNote of cash\.\n.* catalog redo \d+$/],
    ['cancel', /^Publication \d+ was cancelled by chidi@example\.com, .*\n.* catalog show \d+$/],
  ] as const

  test.each([
    ['publish', store, at, { state: 'published', dueAt: 60 }],
    ['merge', store, at, merged],
    ['approve', careful, undefined, { state: 'published', dueAt: null }],
    ['approve', careful, at, { state: 'scheduled', dueAt: at }],
  ] as const)('a change to pending, and others %s it', async (act, on, dueAt, expected) => {
    expect(await close('cash', losing(others[act], on), dueAt)).toMatchObject(expected)
  })

  test.each([
    ['publish', { state: 'published', decidedBy: 'schedule' }],
    ['merge', { ...merged, decidedBy: 'schedule' }],
  ] as const)('an approval for later, and others %s it', async (act, expected) => {
    const { id } = await close('cash', careful, at)
    const row = await approvePublication(losing(others[act]), id, boris)
    expect(row).toMatchObject({ approvedBy: boris.actor, ...expected })
  })

  test.each(ends)('a change to pending or an approval, and others %s it', async (act, message) => {
    await expect(close('cash', losing(others[act]), at)).rejects.toThrow(message)
    await importPlans([cash, gold])
    const { id } = await close('cash', careful, at)
    await expect(approvePublication(losing(others[act]), id, boris)).rejects.toThrow(message)
    expect(await requirePublication(store, id)).toMatchObject({ approvedBy: boris.actor })
  })

  test('an approval, also if it merges, or ends with a conflict that others close', async () => {
    const [plain, merging] = [await close('gold', careful), await close('cash', careful)]
    expect(await approvePublication(losing(), plain.id, boris)).toMatchObject({ id: plain.id, state: 'published' })
    await setHint('cash', 'Later')
    const row = await approvePublication(interceptChanges(loseAnswer), merging.id, boris)
    expect(row).toMatchObject({ ...merged, id: merging.id })
    await importPlans([cash, gold])
    const { id } = await close('cash', careful)
    await setFields(store, 'cash', ['nonInvestableNote=Paused.'], request)
    const cancel = () => cancelPublication(store, id, chidi)
    await expect(approvePublication(losing(cancel), id, boris)).rejects.toThrow(/ was cancelled by chidi@/)
  })

  test('a cancellation, and a publication of now', async () => {
    const { id } = await close('gold', store, at)
    expect(await cancelPublication(losing(), id, amina)).toMatchObject({ state: 'cancelled' })
    expect(await close('cash', losing())).toMatchObject({ state: 'published' })
  })
})

describe('when others come first,', () => {
  const overtaken = (act: () => Promise<unknown>, on = store) => {
    const { db } = interceptChanges(async (call) => {
      await act()
      return call()
    })
    return { ...on, db }
  }

  test.each([
    ['approve', 'does not wait for approval: it is published.'],
    ['cancel', 'does not wait for approval: it is cancelled by chidi@example.com.'],
  ] as const)('an approval is refused: others %s it', async (act, message) => {
    const { id } = await close('cash', careful)
    await expect(approvePublication(overtaken(others[act]), id, boris)).rejects.toThrow(message)
    expect((await requirePublication(store, id)).approvedBy).not.toBe(boris.actor)
  })

  test.each([
    ['publish', 'can’t be cancelled: it is published.'],
    ['cancel', 'can’t be cancelled: it is cancelled by chidi@example.com.'],
  ] as const)('a cancellation is refused: others %s it', async (act, message) => {
    const { id } = await close('cash', store, nextMinute())
    await expect(cancelPublication(overtaken(others[act]), id, boris)).rejects.toThrow(message)
  })

  test('an approval for a time that comes meanwhile publishes', async () => {
    const { id } = await close('cash', careful, nextMinute())
    expect(await approvePublication(overtaken(makeDue), id, boris)).toMatchObject({ id, state: 'published' })
  })

  test.each([undefined, nextMinute()])('what was deleted because it took too long is refused', async (dueAt) => {
    const abandon = () => env.DB.exec(`update publications set created_at = 1 where state = 'staging'`)
    const deleted = overtaken(async () => {
      await abandon()
      await deleteAbandonedPublications(store.db)
    })
    await expect(close('cash', deleted, dueAt)).rejects.toThrow(/longer than an hour/)
  })
})

test('the outcome of a change is known when a statement after it is refused', async () => {
  const changes: Store['changes'] = { outcome: 'unchanged' }
  const { db } = interceptChanges(async (call) => {
    await call()
    throw new CloudflareError('Not allowed.')
  })
  const failure = { cause: { message: 'Not allowed.' } }
  await expect(close('cash', { ...store, db, changes })).rejects.toMatchObject(failure)
  expect(changes.outcome).toBe('changed')
})
