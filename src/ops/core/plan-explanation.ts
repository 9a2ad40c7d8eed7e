// Why a partner sees a plan, or does not.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { freshnessSeconds } from '../../api/promises.ts'
import { selectRecordedPlanIds } from '../../db/catalog-queries.ts'
import { selectChanges, selectPublications, type PlanChange } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { listPartnerEntries, readDatabaseSeconds } from './change-record.ts'
import { selectPlan } from './catalog-plans.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import { listPublications } from './publication-log.ts'

/** The first reason that applies, in the order in which they must be fixed. */
export type PlanExplanation = {
  partner: Pick<Partner, 'shortName' | 'country' | 'suspendedAt' | 'closedAt'>
  /** Who suspended the partner, or took the plan off the list of its country. */
  cause?: Cause | undefined
} & (
  | { reason: 'partner_closed' | 'partner_suspended' | 'no_such_plan'; plan?: undefined }
  | { reason: 'not_viewable' | 'viewable'; plan: CatalogPlan }
)

export interface Cause {
  actor: string
  note: string | null
  /** Unix seconds. */
  time: number | null
  publicationId?: number
}

export interface Question {
  /** The identifier of a plan, or its ID. */
  plan: string
  shortName: string
  /** Unix seconds: asks what was at the end of that second. Now by default. */
  at?: number | undefined
}

/** @throws UserError when there is no such partner, or the record does not answer for that time. */
export async function explainPlan(store: Store, { plan: name, shortName, at }: Question): Promise<PlanExplanation> {
  const partner = await findPartner(store, shortName, at)
  const plan = await selectPlan(store, name, at)
  const { suspendedAt, closedAt, country } = partner
  if (closedAt !== null) return { reason: 'partner_closed', partner }
  if (plan && suspendedAt !== null) {
    const entries = await listPartnerEntries(store, { shortName })
    const entry = entries.find(({ kind, changedAt }) => kind === 'suspend' && changedAt <= (at ?? changedAt))
    return { reason: 'partner_suspended', partner, cause: entry && { ...entry, time: entry.changedAt } }
  }
  if (plan?.viewableIn.includes(country)) return { reason: 'viewable', partner, plan }
  const [planId] = plan ? [plan.id] : await selectRecordedPlanIds(store.db, name)
  const found = planId === undefined ? undefined : await findWithdrawal(store, planId, country, at)
  const cause = found && { ...found, time: found.decidedAt, publicationId: found.id }
  return plan ? { reason: 'not_viewable', partner, plan, cause } : { reason: 'no_such_plan', partner, cause }
}

/** Finds the publication that took a plan off the list of a country, or removed it, for the last time. */
async function findWithdrawal({ db }: Store, planId: number, country: string, at = Infinity) {
  for (const publication of await selectPublications(db, { planIds: [planId], states: ['published'] })) {
    if ((publication.decidedAt ?? 0) > at) continue
    const [change] = await selectChanges(db, publication.id, [planId])
    if (change?.before?.viewableIn.includes(country) && !change.after?.viewableIn.includes(country)) return publication
  }
  return undefined
}

/**
 * Finds the last change that not every isolate may know, or may have known then. A new partner or a plan that does not exist
 * had no answer before.
 * @param at Unix seconds; now by default.
 * @returns until when the partner may get the answer from before, in Unix seconds.
 */
export async function findSettlingTime(
  store: Store,
  { plan, partner, reason }: PlanExplanation,
  at?: number,
): Promise<number | undefined> {
  if (reason === 'no_such_plan') return undefined
  const end = at ?? (await readDatabaseSeconds(store))
  const since = end - freshnessSeconds
  const published = plan && (await selectPublications(store.db, { planIds: [plan.id], since, states: ['published'] }))
  const changed = await listPartnerEntries(store, { shortName: partner.shortName, since })
  const times = [
    ...(published ?? []).flatMap(({ decidedAt }) => decidedAt ?? []),
    ...changed.filter(({ kind }) => kind !== 'create').map(({ changedAt }) => changedAt),
  ].filter((time) => time >= since && time <= end)
  return times.length === 0 ? undefined : Math.max(...times) + freshnessSeconds
}

/** A change that waits for its time or for approval. */
export interface PendingChange extends PlanChange {
  publicationId: number
  /** Unix seconds; null when it is published as soon as it is approved. */
  dueAt: number | null
  /** Why it could not be published now. */
  conflict: string | null
}

/**
 * Selects what pending publications change in a plan, the earliest first. A publication may also add it.
 * @param name the identifier of the plan, or its ID.
 */
export async function selectPendingChanges(store: Store, name: string): Promise<PendingChange[]> {
  const planIds = await selectRecordedPlanIds(store.db, name)
  if (planIds.length === 0) return []
  const rows = await listPublications(store, { plan: name, onlyPending: true })
  const changes = await Promise.all(
    rows.map(async ({ id, dueAt, conflict }) => {
      const touched = await selectChanges(store.db, id, planIds)
      return touched.map(({ planId, before, after }) => ({ planId, before, after, publicationId: id, dueAt, conflict }))
    }),
  )
  return changes.flat().toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity))
}
