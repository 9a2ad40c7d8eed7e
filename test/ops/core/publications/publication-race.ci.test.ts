// Publishers, two schedules, an approver, undo and cancel race on one database, at random and with lost answers. Afterwards, the record
// must show that each publication ended once, lost no update, and made a catalog that agrees with itself.
import { isDeepStrictEqual } from 'node:util'
import { expect, test, vi } from 'vitest'
import { selectCatalog, selectCatalogAt } from '../../../../src/db/catalog-queries.ts'
import { StorageError } from '../../../../src/db/database.ts'
import { flagSupersededVersions } from '../../../../src/db/publish.ts'
import type { PlanChange } from '../../../../src/db/publication-queries.ts'
import {
  deleteAbandonedPublications,
  deleteUnusedVersions,
  findDamagedPublications,
} from '../../../../src/db/stage-publication.ts'
import { prepareImport } from '../../../../src/ops/core/catalog/catalog-import.ts'
import { prepareFields } from '../../../../src/ops/core/plans/plan-changes.ts'
import type { PreparedChange } from '../../../../src/ops/core/publications/proposal.ts'
import { prepareUndo } from '../../../../src/ops/core/publications/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  type Publication,
} from '../../../../src/ops/core/publications/publications.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { publishDue } from '../../../../src/worker/publish-due.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { interceptD1 } from '../../../support/unreliable-stores.ts'
import { createRandom, type Random } from '../../../town/random.ts'
import { careful, emptyStores, env, importPlans, store } from '../../support/memory-store.ts'
import { publishChange } from '../../support/publish-prepared.ts'

const rounds = 300
const nextMinute = () => Math.floor(Date.now() / 1000) + 3600

/** What an author wanted of a field: null as the field for the whole plan. */
interface Edit {
  planId: number
  field: keyof CatalogPlan | null
  from: unknown
  to: unknown
}

function listEdits(changes: readonly PlanChange[]): Edit[] {
  return changes.flatMap(({ planId, before, after }): Edit[] => {
    if (before === null || after === null) return [{ planId, field: null, from: before, to: after }]
    const fields = Object.keys(after) as (keyof CatalogPlan)[]
    return fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => ({ planId, field, from: before[field], to: after[field] }))
  })
}

/** Lists what is wrong with a catalog. */
function findDisagreements(plans: readonly CatalogPlan[]): string[] {
  const owners = new Map<string, unknown>()
  return plans.flatMap((plan) => {
    const objects = [plan.category, plan.fundManager].flatMap((object, index) => (object ? { index, object } : []))
    const claims = new Map<string, unknown>([
      [`identifier ${plan.identifier}`, plan.id],
      ['members', Object.keys(plan).toSorted()],
      ...objects.map(({ index, object }) => [`object ${index} with ID ${object.id}`, object] as const),
    ])
    return [...claims].flatMap(([claim, value]) => {
      const known = owners.get(claim) ?? value
      owners.set(claim, known)
      return isDeepStrictEqual(known, value) ? [] : [`plans disagree on ${claim}`]
    })
  })
}

/** @param before the catalog before a publication. */
function findLostUpdates(
  edits: readonly Edit[],
  before: readonly CatalogPlan[],
  after: readonly CatalogPlan[],
): string[] {
  const find = (plans: readonly CatalogPlan[], id: number) => plans.find((plan) => plan.id === id) ?? null
  const ids = new Set([...before, ...after].map(({ id }) => id))
  return [...ids].flatMap((id) => {
    const [old, now, own] = [find(before, id), find(after, id), edits.filter(({ planId }) => planId === id)]
    const whole = own.find(({ field }) => field === null)
    if (own.length === 0 || whole) return isDeepStrictEqual(now, whole ? whole.to : old) ? [] : [`plan ${id} changed`]
    const fields = Object.keys({ ...old, ...now }) as (keyof CatalogPlan)[]
    return fields.flatMap((field) => {
      const edit = own.find((one) => one.field === field)
      const [theirs, ours] = [old?.[field], now?.[field]]
      if (edit === undefined) return isDeepStrictEqual(theirs, ours) ? [] : [`${field} of plan ${id} was taken back`]
      if (!isDeepStrictEqual(ours, edit.to)) return [`${field} of plan ${id} was not set`]
      const isFree = isDeepStrictEqual(theirs, edit.from) || isDeepStrictEqual(theirs, edit.to)
      return isFree ? [] : [`${field} of plan ${id} of others was replaced`]
    })
  })
}

function createRace(random: Random) {
  const edits = new Map<number, Edit[]>()
  /** Who said that a publication ended, and how. */
  const ends = new Map<number, Set<string>>()
  const end = (id: number, how: string) => void ends.set(id, (ends.get(id) ?? new Set()).add(how))
  const journal: string[] = []

  /** Lets others run before and after each call. A lost answer of a write is asked for again. */
  const shuffled = (losing: number) =>
    interceptD1(env.DB, async (call, { sql }) => {
      for (let turns = random.below(6); turns > 0; turns--) await new Promise(setImmediate)
      const answer = await call()
      if (random.chance(losing) && /^\s*(with.*)?(insert|update)/is.test(sql)) return call()
      for (let turns = random.below(3); turns > 0; turns--) await new Promise(setImmediate)
      return answer
    })

  const operate =
    (name: string, work: (on: typeof store, by: ReturnType<typeof who>) => Promise<string>) => async () => {
      const on = random.chance(0.25) ? careful : store
      const db = openOperatorDatabase(shuffled(0.1))
      try {
        journal.push(`${name}: ${await work({ ...on, db, changes: { outcome: 'unchanged' } }, who(name))}`)
      } catch (error) {
        // The second says that the catalog changed again and again while a command read it.
        if (!(error instanceof UserError || error instanceof StorageError)) throw error
        journal.push(`${name}: ${error.message.split('\n')[0]}`)
      }
    }
  const who = (actor: string) => ({ actor, command: 'test', note: null })

  const publish = async (on: typeof store, prepared: PreparedChange, by: ReturnType<typeof who>): Promise<string> => {
    const dueAt = random.chance(0.4) ? nextMinute() : undefined
    const made: Publication | undefined = await publishChange(on, { ...prepared, dueAt }, { attribution: by })
    if (made === undefined) return 'nothing'
    edits.set(made.id, listEdits(prepared.changes))
    if (made.state === 'published' && dueAt === undefined) end(made.id, `published by ${by.actor}`)
    return `${made.id} ${made.state} ${JSON.stringify(edits.get(made.id)?.map(({ planId, field, to }) => [planId, field, to]))}`
  }
  const pickPublication = async (states: string) => {
    const rows = await env.DB.prepare(`select id from publications where state in (${states}) and id > 1`).raw<
      [number]
    >()
    return rows.length === 0 ? undefined : random.pick(rows)[0]
  }
  let texts = 0

  const setFields = (name: string) =>
    operate(name, async (on, by) => {
      const { plans } = await selectCatalog(on.db)
      if (plans.length === 0) return 'no plan'
      const field = random.pick(['name', 'hint', 'tenor'])
      return publish(on, await prepareFields(on, random.pick(plans).identifier, [`${field}=Text ${++texts}`]), by)
    })
  const importSome = (name: string) =>
    operate(name, async (on, by) => {
      const { plans } = await selectCatalog(on.db)
      const named = random.below(4)
      const category = {
        ...makePlan().category,
        id: 701,
        name: `Category ${++texts % 3}`,
        displayName: 'x',
        tagLine: 'x',
      }
      const changed =
        named === 0
          ? plans.map((plan) => ({ ...plan, category }))
          : named === 1
            ? [makePlan({ id: 10 + random.below(3), identifier: `new-${random.below(2)}`, category: null })]
            : plans.map((plan) => (random.chance(0.6) ? { ...plan, sector: `Text ${++texts}` } : plan))
      const isPruning = named === 3
      const kept = isPruning ? changed.slice(1) : changed
      return publish(on, await prepareImport(on, { plans: kept }, { isPruning }), by)
    })
  const undo = operate('undo', async (on, by) => {
    const id = await pickPublication("'published'")
    return id === undefined ? 'nothing' : publish(on, await prepareUndo(on, id), by)
  })
  const approve = (name: string) =>
    operate(name, async (on, by) => {
      const id = await pickPublication("'waiting'")
      if (id === undefined) return 'nothing'
      const state = (await approvePublication(on, id, by))?.state
      if (state === 'published') end(id, `approved by ${name}`)
      return `${id} ${state}`
    })
  const cancel = operate('cancel', async (on, by) => {
    const id = await pickPublication("'waiting', 'scheduled'")
    if (id === undefined) return 'nothing'
    const { conflict } = await cancelPublication(on, id, by)
    // Otherwise, it closes the case of one that has ended.
    if (conflict === null) end(id, 'cancelled')
    return String(id)
  })
  const schedule = async () => {
    await env.DB.prepare("update publications set due_at = 60 where state = 'scheduled'").run()
    await publishDue(shuffled(0), 'test')
  }
  const clean = async () => {
    const db = openOperatorDatabase(shuffled(0))
    for (const work of [flagSupersededVersions, deleteUnusedVersions, deleteAbandonedPublications]) await work(db)
  }

  const kinds = [
    setFields('amina'),
    setFields('brian'),
    importSome('carol'),
    importSome('dina'),
    undo,
    approve('erin'),
    approve('femi'),
    cancel,
  ]
  const others = [schedule, schedule, schedule, clean]
  return {
    edits,
    ends,
    end,
    journal,
    run: async () => {
      for (let wave = 0; wave < 3; wave++) {
        await Promise.all([
          ...Array.from({ length: 5 }, () => random.pick(kinds)()),
          ...others.slice(random.below(4)).map((act) => act()),
        ])
      }
    },
  }
}

test(`${rounds} races of publishers, schedules, an approver, undo and cancel`, { timeout: 600_000 }, async () => {
  const base = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)
  const counts: Record<string, number> = {}
  for (let round = 0; round < rounds; round++) {
    await emptyStores()
    await importPlans([1, 2, 3, 4].map((id) => makePlan({ id })))
    const first = await env.DB.prepare('select min(id) from publications').first('min(id)')
    const race = createRace(createRandom(`${base} ${round}`))
    const logged = ['info', 'error'].map((level) =>
      vi.spyOn(console, level as 'info').mockImplementation((line: string) => {
        const { event, id, reason } = JSON.parse(line)
        if (event === 'publication_published') race.end(id, 'published by the schedule')
        if (event === 'publication_conflicted') race.end(id, 'conflicted')
        race.journal.push(`schedule: ${event} ${id} ${reason ?? ''}`)
      }),
    )
    await race.run()
    for (const spy of logged) spy.mockRestore()

    const ended = [...race.ends].filter(([, ends]) => ends.size > 1)
    const findings = ended.map(([id, ends]) => `publication ${id} ended ${[...ends].join(' and ')}`)
    type Row = [id: number, revision: number, state: string]
    const rows = await env.DB.prepare('select id, revision, state from publications order by revision').raw<Row>()
    for (const [, , state] of rows) counts[state] = (counts[state] ?? 0) + 1
    let before: CatalogPlan[] = []
    for (const [id, revision] of rows.filter(([, , state]) => state === 'published')) {
      const after = await selectCatalogAt(store.db, revision)
      const lost = id === first ? [] : findLostUpdates(race.edits.get(id) ?? [], before, after)
      findings.push(...[...findDisagreements(after), ...lost].map((finding) => `publication ${id}: ${finding}`))
      before = after
    }
    const { plans } = await selectCatalog(store.db)
    if (!isDeepStrictEqual(plans, before)) findings.push('the catalog is not the last one')
    if ((await findDamagedPublications(store.db)).length > 0) findings.push('a hash is wrong')
    const story = `SEED=${base}, round ${round}\n${race.journal.join('\n')}`
    expect(findings.length === 0 ? '' : `${findings.join('\n')}\n${story}`).toBe('')
  }
  // Each kind of end was met often.
  for (const state of ['published', 'conflicted', 'cancelled']) expect(counts[state]).toBeGreaterThan(rounds / 10)
})
