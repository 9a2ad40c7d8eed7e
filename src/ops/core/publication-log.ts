// Reading the record of the catalog.
import { abbreviate } from '../../abbreviate.ts'
import { storePlan } from '../../catalog/plan-document.ts'
import { selectStored, type StoredCatalog } from '../../db/catalog-queries.ts'
import {
  hashStoredPlans,
  pendingStates,
  readEntries,
  selectCatalogAt,
  selectChanges,
  selectClashes,
  selectPublications,
  selectRecordedPlanIds,
  type Clash,
} from '../../db/publication-queries.ts'
import { hashRecord } from '../../db/record-hash.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { compareChanges, type CatalogDifference } from './catalog-difference.ts'
import { findPublication, type PlanChange, type PublicationRow } from './publications.ts'
import { checkKept, checkLength, checkNextEntry, refuseRecord, type VerifiedRecord } from './record-chain.ts'
import { UserError } from '../shared/user-error.ts'

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
  { read, target }: Store,
  { plan, since, isPending = false }: LogFilter,
): Promise<PublicationRow[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(read, plan)
  if (planIds?.length === 0) {
    const list = describeCommand(target, 'plan', 'list')
    throw new UserError(`No publication changed a plan ${abbreviate(plan)}. See: ${list}`)
  }
  return selectPublications(read, { planIds, since, states: isPending ? pendingStates : undefined })
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
  const changes = await selectChanges(store.read, id)
  const clash = row.revision === null ? describeClash(await selectClashes(store.read), id) : undefined
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

/** Each attempt fails only because somebody published meanwhile. */
const maxAttempts = 10

/**
 * Computes every hash of the record again, and compares states and plans with it.
 * @param kept what was verified earlier.
 * @throws UserError that names what does not fit, at the earliest place.
 */
export async function verifyRecord({ read }: Store, kept?: VerifiedRecord): Promise<VerifiedRecord> {
  let verified: VerifiedRecord = { entryCount: 0, hash: null }
  checkKept(verified, kept)
  let last: string | undefined
  let revision = 0
  const checkedIds = new Set<number>()
  for (let attempt = 1; ; attempt++) {
    for await (const page of readEntries(read, verified.entryCount)) {
      for (const entry of page) {
        const [id, , newRevision, previousHash, publicationId, plansHash] = entry
        checkNextEntry({ id, previousHash }, verified, last)
        if (!checkedIds.has(publicationId) && (await hashStoredPlans(read, publicationId)) !== plansHash) {
          throw refuseRecord(`The plans of publication ${publicationId} were changed after it was decided.`)
        }
        checkedIds.add(publicationId)
        verified = { entryCount: id, hash: await hashRecord(entry) }
        checkKept(verified, kept)
        last = `entry ${id}, about publication ${publicationId}`
        revision = newRevision ?? revision
      }
    }
    const catalog = await selectStored(read)
    const isSame = catalog.origin.revision === revision
    if (!isSame && attempt < maxAttempts) continue
    const [wrongState] = (await selectPublications(read, {})).flatMap((row) => findWrongState(row) ?? [])
    if (wrongState !== undefined) throw refuseRecord(wrongState)
    if (!isSame) throw refuseRecord('The revision of the catalog was changed without a publication.')
    checkLength(verified, kept)
    await checkRecorded(catalog)
    return verified
  }

  /** Compares the texts in the catalog with the last version of each plan. */
  async function checkRecorded({ stored }: StoredCatalog): Promise<void> {
    const recorded = new Map((await selectCatalogAt(read, revision)).map((plan) => [plan.id, storePlan(plan)]))
    const changed = stored.find(({ id, document, viewableIn }) => {
      const version = recorded.get(id)
      recorded.delete(id)
      return version?.document !== document || version.viewableIn !== viewableIn
    })
    const [id] = changed ? [changed.id] : recorded.keys()
    if (id !== undefined) throw refuseRecord(`Plan ${id} was changed without a publication.`)
  }
}

function findWrongState({ id, state, entries, needsApproval }: PublicationRow): string | undefined {
  const last = entries.at(-1)
  const decided = last?.revision != null ? 'published' : last?.kind === 'approved' ? 'scheduled' : last?.kind
  const recorded = decided ?? (needsApproval ? 'waiting' : 'scheduled')
  return state === recorded ? undefined : `Publication ${id} is ${state}, but the record says ${recorded}.`
}
