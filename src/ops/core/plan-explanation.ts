// Why a partner sees a plan, or does not.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { freshnessSeconds } from '../../api/promises.ts'
import { selectRecordedPlanIds } from '../../db/catalog-queries.ts'
import { selectChanges, selectPublications, type PlanChange } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { findPartnerAt, listPartnerEntries, readDatabaseSeconds, type ChangeEntry } from './change-record.ts'
import { selectPlan } from './catalog-plans.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import { listPublications } from './publication-log.ts'

export type PartnerState = Pick<Partner, 'shortName' | 'country' | 'suspendedAt' | 'closedAt'>

/** Who suspended a partner, and why. */
export type Suspension = Pick<ChangeEntry, 'actor' | 'note'>

/** The first reason that applies, in the order in which they must be fixed. */
export type PlanExplanation =
  | { reason: 'partner_closed'; partner: PartnerState; plan?: undefined; closedAt: number }
  | {
      reason: 'partner_suspended'
      partner: PartnerState
      suspendedAt: number
      suspension: Suspension | undefined
      plan?: undefined
    }
  | { reason: 'no_such_plan'; partner: PartnerState; plan?: undefined }
  | { reason: 'not_viewable' | 'viewable'; partner: PartnerState; plan: CatalogPlan }

export interface Question {
  /** The identifier of a plan, or its ID. */
  plan: string
  shortName: string
  /** Unix seconds: asks what was at the end of that second. Now by default. */
  atSeconds?: number | undefined
}

/** @throws UserError when there is no such partner, or the record does not answer for that time. */
export async function explainPlan(
  store: Store,
  { plan: name, shortName, atSeconds }: Question,
): Promise<PlanExplanation> {
  const partner =
    atSeconds === undefined ? await findPartner(store, shortName) : await findPartnerAt(store, shortName, atSeconds)
  const plan = await selectPlan(store, name, atSeconds)
  const { suspendedAt, closedAt, country } = partner
  if (closedAt !== null) return { reason: 'partner_closed', partner, closedAt }
  if (plan === undefined) return { reason: 'no_such_plan', partner }
  if (suspendedAt !== null) {
    const entries = await listPartnerEntries(store, { shortName })
    const suspension = entries.find(
      ({ kind, changedAt }) => kind === 'suspend' && changedAt <= (atSeconds ?? changedAt),
    )
    return { reason: 'partner_suspended', partner, suspendedAt, suspension }
  }
  return { reason: plan.viewableIn.includes(country) ? 'viewable' : 'not_viewable', partner, plan }
}

/**
 * Finds the last change that not every isolate may know, or may have known then. A new partner or a plan that does not exist
 * had no answer before.
 * @returns until when the partner may get the answer from before, in Unix seconds.
 */
export async function findSettlingTime(
  store: Store,
  { plan, partner, reason }: PlanExplanation,
  atSeconds?: number,
): Promise<number | undefined> {
  if (reason === 'no_such_plan') return undefined
  const at = atSeconds ?? (await readDatabaseSeconds(store))
  const since = at - freshnessSeconds
  const published = plan && (await selectPublications(store.read, { planIds: [plan.id], since, states: ['published'] }))
  const changed = await listPartnerEntries(store, { shortName: partner.shortName, since })
  const times = [
    ...(published ?? []).flatMap(({ decidedAt }) => decidedAt ?? []),
    ...changed.filter(({ kind }) => kind !== 'create').map(({ changedAt }) => changedAt),
  ].filter((time) => time >= since && time <= at)
  return times.length === 0 ? undefined : Math.max(...times) + freshnessSeconds
}

/** A change that waits for its time or for approval. */
export interface PendingChange extends PlanChange {
  publicationId: number
  /** Unix seconds; null when it is published as soon as it is approved. */
  dueAt: number | null
  /** Why it would conflict now. */
  conflict: string | null
}

/**
 * Selects the pending changes of a plan, in the order of their times. A pending publication may also add it.
 * @param name the identifier of the plan, or its ID.
 */
export async function selectPendingChanges(store: Store, name: string): Promise<PendingChange[]> {
  const planIds = await selectRecordedPlanIds(store.read, name)
  if (planIds.length === 0) return []
  const rows = await listPublications(store, { plan: name, onlyPending: true })
  const changes = await Promise.all(
    rows.map(async ({ id, dueAt, conflict }) => {
      const touched = await selectChanges(store.read, id, planIds)
      return touched.map(({ planId, before, after }) => ({ planId, before, after, publicationId: id, dueAt, conflict }))
    }),
  )
  return changes.flat().toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity))
}
