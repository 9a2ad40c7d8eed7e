// Reading the record of the catalog.
import { abbreviate } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import {
  hashStoredPlans,
  readEntries,
  selectCatalogAt,
  selectChanges,
  selectClashes,
  selectPublications,
  selectRecordedPlanIds,
  type Clash,
} from '../../db/publication-queries.ts'
import type { RecordedEntry } from '../../db/publish.ts'
import { hashRecord } from '../../db/record-hash.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { compareCatalogs, compareChanges, type CatalogDifference } from './catalog-difference.ts'
import { findPublication, type PlanChange, type PublicationRow } from './publications.ts'
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
  return selectPublications(db, { planIds, since, isPending })
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
  /** How many entries the record has. */
  count: number
  /** What does not fit, at the earliest place. */
  problem: string | undefined
  /** The SHA-256 of the last entry, which no later one holds yet. */
  lastHash: string | undefined
}

/** Computes every hash of the record again, and compares states and plans with it. */
export async function verifyRecord({ db }: Store): Promise<Verification> {
  let revision = 0
  let last: RecordedEntry | undefined
  let lastHash: string | undefined
  const checkedIds = new Set<number>()
  for await (const page of readEntries(db)) {
    for (const recorded of page) {
      const problem = findMismatch(recorded, last, lastHash) ?? (await findChangedPlans(recorded))
      if (problem !== undefined) return { count: last?.[0] ?? 0, problem, lastHash: undefined }
      last = recorded
      revision = recorded[2] ?? revision
      lastHash = await hashRecord(recorded)
    }
  }
  const [wrong] = (await selectPublications(db, {})).flatMap((row) => findWrongState(row) ?? [])
  return { count: last?.[0] ?? 0, problem: wrong ?? (await findUnrecorded()), lastHash }

  async function findChangedPlans([, , , , id, plansHash]: RecordedEntry): Promise<string | undefined> {
    if (checkedIds.has(id)) return undefined
    checkedIds.add(id)
    if ((await hashStoredPlans(db, id)) === plansHash) return undefined
    return `The plans of publication ${id} were changed after it was decided.`
  }

  /** Compares the catalog with the last version of each plan. */
  async function findUnrecorded(): Promise<string | undefined> {
    const [catalog, recorded] = await Promise.all([selectCatalog(db), selectCatalogAt(db, revision)])
    const { added, changed, removed } = compareCatalogs(recorded, catalog.plans, true)
    const [plan] = [...added, ...changed, ...removed]
    return plan && `The plan ${plan.identifier} was changed without a publication.`
  }
}

/** @param last the entry before, and its hash. */
function findMismatch(
  [id, , , previousHash]: RecordedEntry,
  last: RecordedEntry | undefined,
  lastHash: string | undefined,
): string | undefined {
  const [lastId = 0, , , , publicationId] = last ?? []
  if (id !== lastId + 1) return `Entry ${lastId + 1} of the record is missing.`
  if (lastHash === undefined || previousHash === lastHash) return undefined
  return `Entry ${lastId}, about publication ${publicationId}, was changed: entry ${id} holds another hash of it.`
}

function findWrongState({ id, state, entries, needsApproval }: PublicationRow): string | undefined {
  const last = entries.at(-1)
  const decided = last?.revision != null ? 'published' : last?.kind === 'approved' ? 'scheduled' : last?.kind
  const recorded = decided ?? (needsApproval ? 'waiting' : 'scheduled')
  return state === recorded ? undefined : `Publication ${id} is ${state}, but the record says ${recorded}.`
}
