// No import silently undoes somebody else's work.
import { beforeEach, describe, expect, test } from 'vitest'
import type { CatalogFile } from '../../../../src/ops/core/file-formats/catalog-file.ts'
import type { CatalogUpdate } from '../../../../src/ops/core/differences/plan-patch.ts'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin, type CatalogOrigin } from '../../../../src/db/catalog-queries.ts'
import { requirePlan, listPlans, readCatalogAt } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { prepareImport, prepareUpdate, type ImportChoice } from '../../../../src/ops/core/catalog/catalog-import.ts'
import { listPublications } from '../../../../src/ops/core/publications/publication-log.ts'
import { makeProposal } from '../../../../src/ops/core/publications/proposal.ts'
import { invalidateLists } from '../../../../src/ops/core/publications/publications.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { publishPlans, spreadTimes } from '../../../support/publish-plans.ts'
import { attribution, emptyStores, env, importPlans, request, store } from '../../support/memory-store.ts'
import { closePlan, publishChange, setFields, setViewable } from '../../support/publish-prepared.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['UG'] })

beforeEach(async () => {
  await emptyStores()
  await importPlans([cash, gold])
})

const importFile = async (file: CatalogFile, choice?: ImportChoice) => {
  const prepared = await prepareImport(store, file, choice)
  await publishChange(store, prepared, request)
  return prepared
}
type Row = { identifier: string; [field: string]: unknown }
/** Makes a file with some fields of plans, as `readUpdate` returns it. */
const makeUpdate = (plans: Row[], origin?: CatalogOrigin): CatalogUpdate => ({
  patches: plans.map((fields) => {
    const { identifier } = fields
    return { identifier, fields: { ...fields }, place: { kind: 'plan', owner: identifier } }
  }),
  defects: [],
  origin,
})
const rename = (file: CatalogFile, identifier: string, name: string): CatalogFile => ({
  ...file,
  plans: file.plans.map((plan) => (plan.identifier === identifier ? { ...plan, name } : plan)),
})

test('an edited export leaves a plan closed and another withdrawn that were so after the export', async () => {
  await invalidateLists(store, attribution)
  const exported = await readCatalogAt(store)
  await closePlan(store, 'cash', 'Sold out.', request)
  await setViewable(store, 'gold', { countries: ['UG'], isViewable: false }, request)
  const { isMerged, changes, unchanged, notes } = await importFile(rename(exported, 'cash', 'Better cash'))
  expect({ isMerged, changes: changes.length, unchanged }).toEqual({ isMerged: true, changes: 1, unchanged: 1 })
  expect(notes).toEqual([])
  expect(await listPlans(store)).toEqual([
    { ...cash, name: 'Better cash', isInvestable: false, nonInvestableNote: 'Sold out.' },
    { ...gold, viewableIn: [] },
  ])
})

test('an old export without an edit changes nothing, and the note names the flag that brings its values back', async () => {
  const exported = await readCatalogAt(store)
  const unchanged = await prepareImport(store, exported)
  await importFile(rename(exported, 'cash', 'Theirs'))
  const outdated = await prepareImport(store, exported)
  expect([unchanged.notes, outdated.changes, outdated.notes]).toEqual([
    [],
    [],
    [expect.stringContaining('--overwrite')],
  ])
})

test('a field that both changed is refused with both values, and nothing is changed', async () => {
  const exported = await readCatalogAt(store)
  await importFile(rename(exported, 'cash', 'Theirs'))
  const [theirs] = await listPublications(store, {})
  await expect(importFile(rename(exported, 'cash', 'Ours'))).rejects.toThrow(
    new UserError([
      'Plan "cash": name: the file says "Ours"; the catalog says "Theirs".',
      `amina@example.com later set name of cash to "Theirs" (publication ${theirs?.id}).`,
      'To keep the changes of others, make the same changes in the file. To publish every value of the file, add --overwrite: the values then replace later changes by others.',
    ]),
  )
  expect((await requirePlan(store, 'cash')).name).toBe('Theirs')
})

test.each<[title: string, ours: Partial<CatalogPlan>, theirs: string[], values: string]>([
  [
    'a new date, while others correct a return,',
    { performance3: 12, performanceDate: '2026-11-25' },
    ['performance1=13.3'],
    'the file says 13.1; the catalog says 13.3.',
  ],
  [
    'a corrected return, while others give a new date,',
    { performance1: 13.3 },
    ['performance3=12', 'performanceDate=2026-11-25'],
    'the file says 13.3; the catalog says 13.1.',
  ],
])('a file with %s is refused, and names the author', async (_, ours, theirs, values) => {
  const exported = await readCatalogAt(store)
  await setFields(store, 'cash', theirs, request)
  const [latest] = await listPublications(store, {})
  const refused = prepareImport(store, { ...exported, plans: [{ ...cash, ...ours }] })
  await expect(refused).rejects.toThrow(`Plan "cash": performance1: ${values}`)
  await expect(refused).rejects.toThrow(`(publication ${latest?.id})`)
  await expect(refused).rejects.toThrow('A new performanceDate also conflicts')
})

test.each<[string, Partial<CatalogFile>, ImportChoice]>([
  ['without a revision', { origin: undefined }, {}],
  ['that overwrites', {}, { isOverwriting: true }],
])('an old file %s warns of what it takes back of others, also as an update', async (_, overrides, choice) => {
  const old = { ...(await readCatalogAt(store)), ...overrides }
  await closePlan(store, 'gold', 'Sold out.', request)
  await setFields(store, 'cash', ['performance1=9', 'performanceDate=2026-11-01'], request)
  await importPlans([makePlan({ id: 3, identifier: 'new' })])
  const [added, figures, closed] = (await listPublications(store, {})).map(({ id, actor }) => `${id} by ${actor}`)
  const takesBack = (who: (string | undefined)[], plans: string) => [
    `The change takes back values of recent publications (${who.join(', ')}) in ${plans}. To keep these values, export the catalog now, and edit the new file.`,
  ]
  const pruned = await prepareImport(store, old, { ...choice, isPruning: true })
  expect(pruned.warnings).toEqual(takesBack([added, figures, closed], 'new, cash, gold'))
  const patch = { identifier: 'gold', isInvestable: true, nonInvestableNote: null, name: 'Better gold' }
  expect((await prepareUpdate(store, makeUpdate([patch], old.origin), choice)).warnings).toEqual(
    takesBack([closed], 'gold'),
  )
  const sold = { isInvestable: false, nonInvestableNote: 'Sold out.' }
  const prepareFigures = async (performanceDate: string) => {
    const plans = old.plans.map((plan) => ({ ...plan, performanceDate, ...sold }))
    return (await prepareImport(store, { ...old, plans }, choice)).warnings
  }
  expect(await prepareFigures('2026-11-01')).toEqual(takesBack([figures], 'cash'))
  // In another month, the old return is not taken back: it may be the return of that month, too.
  expect(await prepareFigures('2026-12-01')).toEqual([])
})

test('an old file takes back changes of many publications ago; the authors of the current values are named, the latest first', async () => {
  const { plans } = await readCatalogAt(store)
  for (const value of [2.8, 12.9]) await setFields(store, 'cash', [`performance1=${value}`], request)
  const [fix] = await listPublications(store, {})
  for (let days = 1; days <= 31; days++) await setFields(store, 'gold', [`lockInPeriod=${days}`], request)
  const [latest] = await listPublications(store, {})
  const { warnings } = await prepareImport(store, { plans })
  expect(warnings.join()).toContain(`(${latest?.id} by ${latest?.actor}, ${fix?.id} by ${fix?.actor}) in gold, cash.`)
})

test('a field of the catalog that this copy of the code does not know stays, and a new plan without it is refused', async () => {
  const newer = (plan: CatalogPlan): CatalogPlan => Object({ ...plan, benchmark: 'NSE' })
  await publishPlans(store.db, [newer(cash), newer(gold)])
  const { origin } = await readCatalogAt(store)
  await closePlan(store, 'gold', 'Sold out.', request)
  await importFile({ plans: [{ ...cash, name: 'New' }, gold], origin })
  expect(await listPlans(store)).toEqual([
    newer({ ...cash, name: 'New' }),
    newer({ ...gold, isInvestable: false, nonInvestableNote: 'Sold out.' }),
  ])
  await expect(importPlans([makePlan({ id: 3 })])).rejects.toThrow('its plans have other fields than the catalog')
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const changes = [{ planId: 3, before: null, after: makePlan({ id: 3, identifier: 'cash', viewableIn: [] }) }]
  await expect(makeProposal(store, { baseRevision, changes })).rejects.toThrow(
    new UserError(
      'Plan "cash": identifier: expected an identifier that no other plan has; found "cash", as in plan "cash".',
    ),
  )
})

test('an export of the past carries its revision: importing it unchanged changes nothing, unless it overwrites', async () => {
  // Gives each publication a second of its own, because an operator can't name a shorter time.
  await spreadTimes(env.DB)
  const closed = { ...cash, isInvestable: false, nonInvestableNote: 'Sold out.' }
  await closePlan(store, 'cash', 'Sold out.', request)
  const past = await readCatalogAt(store, 1000)
  expect(past.plans).toEqual([cash, gold])
  await importFile(past)
  expect(await requirePlan(store, 'cash')).toEqual(closed)
  await importFile(past, { isOverwriting: true })
  expect(await requirePlan(store, 'cash')).toEqual(cash)
})

test.each([
  ['another catalog', { catalog: '0'.repeat(16) }],
  ['an unknown revision', { revision: 1 }],
])('a file of %s is refused, unless --overwrite', async (_, origin) => {
  const exported = rename(await readCatalogAt(store), 'cash', 'New')
  const file = { ...exported, origin: { ...(await selectCatalogOrigin(store.db)), ...origin } }
  await expect(importFile(file)).rejects.toThrow(
    new UserError([
      'The file was exported from another catalog, or the database was restored since.',
      'Export the catalog again, or add --overwrite: the file then overwrites later changes by others.',
    ]),
  )
  const { isMerged } = await importFile(file, { isOverwriting: true })
  expect({ isMerged, name: (await requirePlan(store, 'cash')).name }).toEqual({ isMerged: false, name: 'New' })
})

describe('a partial update', () => {
  const update = async (plans: Row[], exported: Partial<CatalogFile> = {}) => {
    const prepared = await prepareUpdate(store, makeUpdate(plans, exported.origin))
    await publishChange(store, prepared, request)
    return prepared
  }

  test('of an edited export keeps later changes by others, and changes only what it names', async () => {
    const exported = await readCatalogAt(store)
    await importFile(rename(exported, 'cash', 'Theirs'))
    await importPlans([makePlan({ id: 3, identifier: 'new' })])
    const { isMerged } = await update(
      [
        { ...cash, performance1: 1.5 },
        { identifier: 'new', hint: 'Hi' },
      ],
      exported,
    )
    expect(isMerged).toBe(true)
    expect(await requirePlan(store, 'cash')).toEqual({ ...cash, name: 'Theirs', performance1: 1.5 })
    expect((await requirePlan(store, 'new')).hint).toBe('Hi')
  })

  test('never changes a plan that took over the identifier of another one after the export', async () => {
    const exported = await readCatalogAt(store)
    await importFile({ plans: [gold] }, { isPruning: true })
    const successor = makePlan({ id: 9, identifier: 'cash', performance1: 9.9, performanceDate: '2026-11-20' })
    await importPlans([successor])
    const exportedRow = { identifier: 'cash', performance1: cash.performance1, performanceDate: cash.performanceDate }
    await update([exportedRow, { identifier: 'gold', hint: 'Hi' }], exported)
    expect(await listPlans(store)).toEqual([{ ...gold, hint: 'Hi' }, successor])
    const edited = update([{ ...exportedRow, performance1: 12 }], exported)
    await expect(edited).rejects.toThrow('Plan "cash": the file changes the plan; others removed it')
  })
})
