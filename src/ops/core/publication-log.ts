// Reading the record of the catalog.
import { abbreviate } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import {
  hashStoredPlans,
  selectCatalogAt,
  selectChanges,
  selectClashes,
  selectPublications,
  selectPublished,
  selectRecordedPlanIds,
  type Clash,
} from '../../db/publication-queries.ts'
import { hashPublication, type PublicationRow } from '../../db/publish.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { compareCatalogs, compareChanges, type CatalogDifference } from './catalog-difference.ts'
import { findPublication, type PlanChange } from './publications.ts'
import { UserError } from './user-error.ts'

export interface LogFilter {
  /** The identifier of a plan, or its ID. */
  plan?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
  isPending?: boolean | undefined
}

/**
 * Lists publications, the latest first.
 * @throws UserError when no publication ever touched the plan.
 */
export async function listPublications(
  { db, target }: Store,
  { plan, since, isPending = false }: LogFilter,
): Promise<PublicationRow[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(db, plan)
  if (planIds?.length === 0) {
    const list = describeCommand(target, 'plan', 'list')
    throw new UserError(`No publication changed a plan ${abbreviate(plan)}. See: ${list}`)
  }
  return selectPublications(db, {
    isPending,
    ...(planIds !== undefined && { planIds }),
    ...(since !== undefined && { since }),
  })
}

export interface PublicationDetails {
  row: PublicationRow
  changes: PlanChange[]
  difference: CatalogDifference
  /** What was changed after it was staged, for a publication that is not published; undefined when nothing was. */
  clash: string | undefined
}

/** @throws UserError when there is no such publication. */
export async function readPublication(store: Store, id: number): Promise<PublicationDetails> {
  const row = await findPublication(store, id)
  const changes = await selectChanges(store.db, id)
  const clash = row.revision === null ? describeClash(await selectClashes(store.db), id) : undefined
  return { row, changes, difference: compareChanges(changes), clash }
}

/** @returns undefined when no plan of the publication was changed after it was staged. */
export function describeClash(clashes: readonly Clash[], id: number): string | undefined {
  const own = clashes.filter(({ publicationId }) => publicationId === id)
  const [first] = own
  if (first === undefined) return undefined
  const more = new Set(own.map(({ planId }) => planId)).size - 1
  return `publication ${first.laterId} changed plan ${first.planId}${more > 0 ? ` and ${more} more` : ''} meanwhile`
}

export interface Verification {
  /** How many publications were published. */
  count: number
  /** What does not fit, at the earliest place. */
  problem: string | undefined
  /** The SHA-256 of the last publication, which no later one holds yet. */
  lastHash: string | undefined
}

/** Computes every hash of the record again. */
export async function verifyRecord({ db }: Store): Promise<Verification> {
  const rows = await selectPublished(db)
  const pruned = Math.max(...rows.map(({ prunesBefore }) => prunesBefore ?? 0))
  let previous: PublicationRow | undefined
  let lastHash: string | undefined
  for (const row of rows) {
    const problem = findMismatch(row, previous, lastHash) ?? (await findChangedPlans(row))
    if (problem !== undefined) return { count: rows.length, problem, lastHash: undefined }
    previous = row
    lastHash = await hashPublication(row)
  }
  return { count: rows.length, problem: await findUnrecorded(previous), lastHash }

  async function findChangedPlans({ id, plansHash, prunedBefore }: PublicationRow): Promise<string | undefined> {
    if (prunedBefore !== null && prunedBefore > pruned) return `Publication ${id} was pruned, but nobody recorded that.`
    // A migration could not compute the hash of the plans that it recorded.
    if (plansHash === null || prunedBefore !== null || (await hashStoredPlans(db, id)) === plansHash) return undefined
    return `The plans of publication ${id} were changed after it was published.`
  }

  /** Compares the catalog with the last version of each plan. */
  async function findUnrecorded(last: PublicationRow | undefined): Promise<string | undefined> {
    const [catalog, recorded] = await Promise.all([selectCatalog(db), selectCatalogAt(db, last?.revision ?? 0)])
    const { added, changed, removed } = compareCatalogs(recorded, catalog, true)
    const [plan] = [...added, ...changed, ...removed]
    return plan && `The plan ${plan.identifier} was changed without a publication.`
  }
}

function findMismatch(
  { id, previousId, previousHash }: PublicationRow,
  previous: PublicationRow | undefined,
  hash: string | undefined,
): string | undefined {
  if (previousId !== (previous?.id ?? null)) {
    return previousId === null
      ? `Publication ${id} does not name the publication before it, ${previous?.id}.`
      : `Publication ${previousId}, which publication ${id} follows, is missing or was moved.`
  }
  if (previousHash === (hash ?? null)) return undefined
  return `Publication ${previousId} was changed after it was published: publication ${id} holds another hash of it.`
}
