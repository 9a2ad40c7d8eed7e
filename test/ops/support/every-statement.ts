// Every statement of src/db.
import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { examplePlan } from '../../../src/catalog/example-plan.ts'
import { encodePlan } from '../../../src/catalog/plan-document.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  selectCatalog,
  selectCatalogAt,
  selectCatalogOrigin,
  selectCatalogPlan,
  selectCurrentPlans,
  selectRecordedPlanIds,
  selectRevisionUpTo,
  selectPossibleNamesakes,
  selectCatalogSizeWithout,
  selectSummaries,
} from '../../../src/db/catalog-queries.ts'
import { selectPartnerCheck } from '../../../src/db/client-queries.ts'
import { readTable, selectFingerprint, selectSchema } from '../../../src/db/copy-queries.ts'
import type { OperatorDatabase } from '../../../src/db/operator-database.ts'
import { countListedPlans, selectAppliedMigrations } from '../../../src/db/health-queries.ts'
import { deleteLeftovers } from '../../../src/db/leftovers.ts'
import {
  insertPartnerChange,
  insertNewPartner,
  findChange,
  insertKeyChange,
  setContact,
} from '../../../src/db/partner-changes.ts'
import {
  selectKeyEntries,
  selectPartnerEntries,
  selectNowSeconds,
  selectPartner,
  selectPartners,
  selectStoredSecrets,
} from '../../../src/db/partner-queries.ts'
import { selectPlanList } from '../../../src/db/plan-queries.ts'
import { selectChanges, selectPublication, selectPublished } from '../../../src/db/publication-queries.ts'
import { approveForLater, endAsCancelled, makePending } from '../../../src/db/publication-states.ts'
import {
  type PublishMode,
  endAsConflicted,
  flagSupersededVersions,
  selectDuePublications,
} from '../../../src/db/publish.ts'
import {
  writeScopeCondition,
  readComparedPlans,
  selectRestored,
  selectPlansSharingValues,
} from '../../../src/db/rebase.ts'
import {
  deleteAbandonedPublications,
  deleteUnusedVersions,
  findDamagedPublications,
  type NewPublication,
} from '../../../src/db/stage-publication.ts'
import { isCausedBy } from '../../../src/ops/store/failure.ts'
import { makeRequest } from '../../support/insert-partner.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishAs, stageChanges } from '../../support/publish-plans.ts'
import type { Mode } from '../../support/text-database.ts'

/**
 * Makes every change, finds out the outcome as after a lost answer, and reads everything back.
 * @param d1 as the Worker has it. @returns the kinds of the recorded changes.
 */
export async function runEveryStatement(db: OperatorDatabase, d1: D1Database, mode: Mode): Promise<unknown[]> {
  const decision = (publicationId: number) => ({ publicationId, actor: 'brian', note: null })
  const publishIn = async (publishMode: PublishMode, id: number) => {
    await publishAs(db, decision(id), publishMode)
    const published = await selectPublication(db, id)
    if (published?.revision == null) throw new Error(`Publication ${id} was not published`)
    return published.revision
  }
  const propose = (planId: number, changed: Partial<CatalogPlan>, overrides: Partial<NewPublication> = {}) =>
    stageChanges(db, [{ planId, after: makePlan({ id: planId, ...changed }) }], overrides)
  const readState = async (id: number) => (await selectPublication(db, id))?.state

  const makePendingNow = async (id: number, pendingState: 'waiting' | 'scheduled') =>
    makePending(db, id, pendingState, (await selectCatalogOrigin(db)).revision)

  // Publications.
  const first = await publishIn('now', await propose(1, {}, { command: 'catalog import plans.json' }))
  const waiting = await propose(1, { name: 'Approved' }, { needsApproval: true })
  await makePendingNow(waiting, 'waiting')
  await publishIn('approve', waiting)
  const later = await propose(2, {}, { needsApproval: true, dueAt: 4e9 })
  await makePendingNow(later, 'waiting')
  await approveForLater(db, decision(later))
  expect(await readState(later)).toBe('scheduled')
  expect(await endAsConflicted(db, decision(later), 'a plan was changed')).toBe(mode !== 'answer lost')
  await endAsCancelled(db, decision(later))
  const overtaken = await propose(1, { name: 'Mine' }, { dueAt: 60 })
  await makePendingNow(overtaken, 'scheduled')
  const theirs = { name: 'Approved', about: 'Theirs' }
  await publishIn('now', await propose(1, theirs))
  expect(await selectDuePublications(db)).toEqual([overtaken])
  expect(await selectRestored(db, [overtaken])).toMatchObject({ restoredIds: [] })
  for (const scope of ['all', 'may-conflict'] as const) {
    const pages = readComparedPlans(db, writeScopeCondition([overtaken], scope, [1]), 9e15)
    for await (const page of pages) expect(page).toMatchObject([{ planId: 1, isOvertaken: true, current: theirs }])
  }
  const revision = await publishIn('due', overtaken)
  await deleteUnusedVersions(db)
  expect(await readState(later)).toBe('cancelled')
  await flagSupersededVersions(db)
  await propose(3, {})
  await d1.prepare(`update publications set created_at = 60 where state = 'staging'`).bind().run()
  await deleteAbandonedPublications(db)
  expect(await db.values(sql`select id from publications where state = 'staging'`)).toEqual([])

  const plans = [makePlan({ id: 1, ...theirs, name: 'Mine' })]
  expect(await selectCatalog(db)).toMatchObject({ origin: { revision }, plans })
  expect(await selectCatalogOrigin(db)).toMatchObject({ revision })
  expect(await selectCatalogPlan(db, 'plan-1')).toEqual({ plan: plans[0], revision })
  const { category, fundManager } = examplePlan
  const objects = [
    { field: 'category', id: category?.id },
    { field: 'fundManager', id: fundManager?.id },
    { field: 'identifier', id: 'plan-9' },
    { field: 'members', id: '' },
  ]
  expect(await selectPlansSharingValues(db, objects, [2])).toEqual(plans)
  expect(await selectPlansSharingValues(db, objects, [1])).toEqual([])
  expect(await selectCurrentPlans(db, [1, 9])).toEqual(plans)
  const size = { plans: 1, bytes: new TextEncoder().encode(encodePlan(makePlan(plans[0]))[0] ?? '').byteLength + 1 }
  expect(await selectCatalogSizeWithout(db, [2])).toEqual({ plans: 1, lists: new Map([['KE', size]]) })
  expect(await selectCatalogSizeWithout(db, [1])).toEqual({ plans: 0, lists: new Map() })
  const { id, identifier, fundType, currency, isInvestable, viewableIn, ...others } = makePlan({ id: 1 })
  const summaries = [{ id, identifier, name: others.name, fundType, currency, isInvestable, viewableIn }]
  expect(await selectSummaries(db, { country: 'KE' })).toEqual([{ ...summaries[0], name: 'Mine' }])
  expect(await selectSummaries(db, { revision: first })).toEqual(summaries)
  expect(await selectSummaries(db, { country: 'UG' })).toEqual([])
  expect(await selectPossibleNamesakes(db, ['MINE'], [2])).toEqual(plans)
  expect(await selectPossibleNamesakes(db, ['Mine'], [1])).toEqual([])
  expect(await selectCatalogAt(db, first)).toEqual([makePlan({ id: 1 })])
  const upTo = (most: number) => selectRevisionUpTo(db, most)
  expect([await upTo(60_000), await upTo(first), await upTo(4e12)]).toEqual([0, first, revision])
  expect(await selectRecordedPlanIds(db, 'plan-1')).toEqual([1])
  expect(
    await selectPlanList(d1, 'KE', { categoryId: examplePlan.category?.id ?? 0, currency: examplePlan.currency }),
  ).toMatchObject({
    documents: [expect.any(String)],
  })
  expect(await selectPublished(db, { planIds: [1], since: 60, afterRevision: first })).toHaveLength(3)
  expect(await selectChanges(db, overtaken, [1])).toMatchObject([
    { before: { name: 'Approved' }, after: { name: 'Mine' } },
  ])
  expect(await findDamagedPublications(db)).toEqual([])
  await d1.prepare(`update plan_versions set document = replace(document, 'Mine', 'Yours')`).bind().run()
  expect(await findDamagedPublications(db)).toEqual([overtaken])
  await d1.prepare(`update plan_versions set document = replace(document, 'Yours', 'Mine')`).bind().run()
  expect(await countListedPlans(db)).toBe(1)
  expect(await countListedPlans(db, 'KE')).toBe(1)
  expect(await countListedPlans(db, 'ZZ')).toBe(0)
  const unmigrated: unknown = await selectAppliedMigrations(db).catch((error: unknown) => error)
  expect(isCausedBy(unmigrated, /no such table: d1_migrations/)).toBe(true)

  // Partners and keys.
  const clientId = 'c'.repeat(16)
  const request = makeRequest()
  await insertNewPartner(db, request, { shortName: 'acme', name: 'Acme', country: 'KE', clientId, secretHash: 'first' })
  const changeId = (await findChange(db, request.requestId))?.id ?? 0
  const rotate = { kind: 'rotate', graceSeconds: 60, secretHash: 'second' } as const
  await insertPartnerChange(db, makeRequest(), changeId, rotate)
  await setContact(db, 'acme', 'dev@acme.example')
  await insertKeyChange(db, makeRequest(), 'keys-rotate', 'K')
  await deleteLeftovers(db)
  const [partner] = await selectPartners(db)
  expect(partner).toMatchObject({ shortName: 'acme', clientId, contact: 'dev@acme.example' })
  expect(partner?.secrets.map(({ createdAt, expiresAt }) => expiresAt && expiresAt - createdAt >= 60)).toEqual([
    true,
    null,
  ])
  expect(await selectPartner(db, 'acme', (await selectNowSeconds(db)) + 1)).toEqual(partner)
  expect((await selectStoredSecrets(db)).map(({ hash }) => hash)).toEqual(['first', 'second'])
  expect((await selectPartnerEntries(db, { shortName: 'acme', since: 60 })).map(({ kind }) => kind)).toEqual([
    'rotate',
    'create',
  ])
  expect(await selectKeyEntries(db)).toMatchObject([{ kid: 'K' }])
  expect(await selectPartnerCheck(d1, clientId)).toMatchObject({ revision, partner: { shortName: 'acme' } })

  // A copy.
  expect(await selectFingerprint(db)).toContain('["published",4]')
  expect((await selectSchema(db)).filter(([type]) => type === 'table').map(([, name]) => name)).toEqual([
    'catalog',
    'publications',
    'plan_versions',
    'change_record',
    'partner_contacts',
  ])
  const copied: unknown[][] = []
  for await (const page of readTable(db, 'change_record')) copied.push(...page)
  return copied.map((row) => row[5])
}
