// Importing a catalog file: read it, compare it with the catalog, then write the difference.
import { findConflicts, parseCatalog, type CatalogFile, type CatalogOrigin } from '../../catalog/catalog-file.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../db/catalog-queries.ts'
import type { Database } from '../../db/database.ts'
import { selectCatalogAt, selectRecordStart } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { compareCatalogs, type CatalogDifference } from './catalog-difference.ts'
import { formatConflict, mergeCatalog, type MergeDecision } from './catalog-merge.ts'
import type { CatalogChange, OnProgress } from './publications.ts'
import { decodeText } from './decode-text.ts'
import { UserError } from './user-error.ts'

export interface CatalogImport extends CatalogChange {
  difference: CatalogDifference
  /** Whether the file said which revision it was exported at. */
  isMerged: boolean
}

export interface ImportChoice {
  /** Whether plans that are not in the file are removed. With the country of a file, they only leave its list. */
  isPruning?: boolean
  /** Whether the file replaces the whole catalog, even where an ID was another plan. */
  isFresh?: boolean
  /** Whether to use the revision of the file. */
  isMerging?: boolean
  /** What wins where the file and somebody else changed the same field. */
  decision?: MergeDecision
}

const nothingImported = 'Nothing was imported.'

/**
 * Reads a catalog file.
 * @throws UserError with one line for each defect.
 */
export function readCatalog(bytes: Uint8Array, onProgress: OnProgress): CatalogFile {
  const text = decodeText(bytes)
  const result = parseCatalog(text, (done, total) => onProgress('Checking the plans', done, total))
  if (result.kind === 'invalid') throw new UserError([...result.defects, nothingImported])
  return result
}

/**
 * Compares a file with the catalog and changes nothing. When the file says which revision it was exported at, only what
 * it changes against that revision counts, and what others changed since stays.
 * @throws UserError when the file and somebody else changed the same field, the file can't be merged, the resulting
 *   catalog would contradict itself, or a plan would change its ID or identifier.
 */
export async function prepareImport(
  { db }: Store,
  { plans, origin, country }: CatalogFile,
  { isPruning = false, isFresh = false, isMerging = true, decision = 'refuse' }: ImportChoice = {},
): Promise<CatalogImport> {
  // The revision before the plans: when one of them changes in between, publishing is refused.
  const now = await selectCatalogOrigin(db)
  const base = origin && isMerging && !isFresh ? await selectBase(db, origin, now) : undefined
  const before = await selectCatalog(db)
  const merge = mergeCatalog({
    base,
    file: plans,
    current: before,
    isPruning: isPruning || isFresh,
    country: isFresh ? undefined : country,
    decision,
  })
  if (merge.conflicts.length > 0) {
    const fix = 'Edit the file, or add --ours for the values of the file, or --theirs for those of the catalog.'
    throw new UserError([...merge.conflicts.map(formatConflict), fix, nothingImported])
  }
  const concerned = new Set([...merge.removedIds, ...merge.put.map(({ id }) => id)])
  const untouched = before.filter(({ id }) => !concerned.has(id))
  const strangers = isFresh ? [] : findIdentityConflicts(before, untouched, merge.put)
  if (strangers.length > 0) {
    const fix = 'An ID never becomes another plan. Change the file, or replace the whole catalog with --fresh.'
    throw new UserError([...strangers, fix, nothingImported])
  }
  const conflicts = findConflicts([...untouched, ...merge.put])
  if (conflicts.length > 0) throw new UserError([...conflicts, nothingImported])

  const known = new Map(before.map((plan) => [plan.id, plan]))
  const touched = before.filter(({ id }) => concerned.has(id))
  const difference = compareCatalogs(touched, merge.put, true)
  const { added, changed, removed } = difference
  const changes = [
    ...[...added, ...changed].map((after) => ({ planId: after.id, before: known.get(after.id) ?? null, after })),
    ...removed.map((plan) => ({ planId: plan.id, before: plan, after: null })),
  ]
  return { baseRevision: now.revision, changes, difference, isMerged: base !== undefined }
}

/** @throws UserError when the record does not know the revision of the file. */
async function selectBase(db: Database, origin: CatalogOrigin, now: CatalogOrigin): Promise<CatalogPlan[]> {
  if (origin.catalog !== now.catalog) throw refuseMerge('The file was exported from another catalog.')
  if (origin.revision > now.revision)
    throw refuseMerge('The file is newer than the catalog: was the database restored?')
  const start = await selectRecordStart(db)
  if (start && !start.isComplete && origin.revision < start.revision) {
    throw refuseMerge('The record does not reach back to the revision of the file.')
  }
  return selectCatalogAt(db, origin.revision)
}

function refuseMerge(reason: string): UserError {
  const fix =
    'Export the catalog again, or add --no-merge: then the plans of the file replace those of the catalog, including changes that others made.'
  return new UserError([`${reason} ${fix}`, nothingImported])
}

function findIdentityConflicts(
  before: readonly CatalogPlan[],
  untouched: readonly CatalogPlan[],
  plans: readonly CatalogPlan[],
): string[] {
  const identifierById = new Map(before.map(({ id, identifier }) => [id, identifier]))
  const idByIdentifier = new Map(untouched.map(({ id, identifier }) => [identifier, id]))
  return plans.flatMap(({ id, identifier }) => {
    const otherIdentifier = identifierById.get(id)
    const otherId = idByIdentifier.get(identifier)
    if (otherId !== undefined) return [`Plan "${identifier}": id: it is ${otherId} in the catalog; found ${id}.`]
    if (otherIdentifier === undefined || otherIdentifier === identifier) return []
    return [`Plan "${identifier}": id: ${id} is plan "${otherIdentifier}" in the catalog.`]
  })
}
