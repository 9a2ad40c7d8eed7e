// Changes of the catalog that are published as they were prepared: nobody reads them before.
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  prepareClosing,
  prepareFields,
  prepareOpening,
  prepareViewable,
  type PreparedPlan,
} from '../../../src/ops/core/plans/plan-changes.ts'
import { checkChange, type PreparedChange } from '../../../src/ops/core/publications/proposal.ts'
import { publishProposal, type Publication } from '../../../src/ops/core/publications/publications.ts'
import type { Attribution } from '../../../src/ops/core/record/attribution.ts'
import { selectCatalogPlan } from '../../../src/db/catalog-queries.ts'
import type { Store } from '../../../src/ops/store/store.ts'

export interface PublicationRequest {
  attribution: Attribution
  /** Unix seconds. */
  dueAt?: number | undefined
}

export interface PlanResult {
  plan: CatalogPlan
  publication: Publication | undefined
}

/** @returns undefined when there is nothing to change. */
export async function publishChange(
  store: Store,
  prepared: PreparedChange,
  { attribution, dueAt }: PublicationRequest,
): Promise<Publication | undefined> {
  const change = dueAt === undefined ? prepared : { ...prepared, dueAt }
  if (change.changes.length === 0) return undefined
  await checkChange(store, change)
  const result = await publishProposal(store, change, attribution)
  if (result.kind === 'made') return result.publication
  return publishChange(store, { ...change, ...result.change }, { attribution })
}

async function publishPlan(store: Store, prepared: PreparedPlan, request: PublicationRequest): Promise<PlanResult> {
  const publication = await publishChange(store, prepared, request)
  const { plan } = prepared
  const now = publication?.state === 'published' ? await selectCatalogPlan(store.db, String(plan.id)) : undefined
  return { plan: now?.plan ?? plan, publication }
}

export async function setViewable(
  store: Store,
  name: string,
  choice: Parameters<typeof prepareViewable>[2],
  request: PublicationRequest,
) {
  return publishPlan(store, await prepareViewable(store, name, choice), request)
}

export async function closePlan(store: Store, name: string, note: string, request: PublicationRequest) {
  return publishPlan(store, await prepareClosing(store, name, note), request)
}

export async function openPlan(store: Store, name: string, request: PublicationRequest) {
  return publishPlan(store, await prepareOpening(store, name), request)
}

export async function setFields(
  store: Store,
  name: string,
  assignments: readonly string[],
  request: PublicationRequest,
) {
  return publishPlan(store, await prepareFields(store, name, assignments), request)
}
