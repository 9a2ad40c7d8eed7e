// Importing a catalog file: read it, compare it with the catalog, then write the difference.
import { findConflicts, parseCatalog } from '../../catalog/catalog-file.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../db/catalog-queries.ts'
import type { Store } from '../store/store.ts'
import { compareCatalogs, type CatalogDifference } from './catalog-difference.ts'
import type { CatalogChange, OnProgress } from './publications.ts'
import { UserError } from './user-error.ts'

export interface CatalogImport extends CatalogChange {
  difference: CatalogDifference
}

const nothingImported = 'Nothing was imported.'

/**
 * Reads the plans of a catalog file.
 * @throws UserError with one line for each defect.
 */
export function readCatalog(bytes: Uint8Array, onProgress: OnProgress): CatalogPlan[] {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError(['The file is not UTF-8.', nothingImported])
  }
  const result = parseCatalog(text, (done, total) => onProgress('Checking the plans', done, total))
  if (result.kind === 'invalid') throw new UserError([...result.defects, nothingImported])
  return result.plans
}

/**
 * Compares plans with the catalog and changes nothing.
 * @param isPruning whether plans that are not in `plans` are removed.
 * @throws UserError when the resulting catalog would contradict itself, or a plan would change its ID or identifier.
 */
export async function prepareImport(
  { db }: Store,
  plans: readonly CatalogPlan[],
  isPruning: boolean,
): Promise<CatalogImport> {
  // The revision before the plans: when one of them changes in between, publishing is refused.
  const { revision } = await selectCatalogOrigin(db)
  const before = await selectCatalog(db)
  const difference = compareCatalogs(before, plans, isPruning)

  const replaced = new Set([...plans, ...difference.removed].map(({ id }) => id))
  const untouched = before.filter(({ id }) => !replaced.has(id))
  const conflicts = findIdentityConflicts(before, untouched, plans)
  if (conflicts.length === 0) conflicts.push(...findConflicts([...untouched, ...plans]))
  if (conflicts.length > 0) throw new UserError([...conflicts, nothingImported])
  const known = new Map(before.map((plan) => [plan.id, plan]))
  const { added, changed, removed } = difference
  const changes = [
    ...[...added, ...changed].map((after) => ({ planId: after.id, before: known.get(after.id) ?? null, after })),
    ...removed.map((plan) => ({ planId: plan.id, before: plan, after: null })),
  ]
  return { baseRevision: revision, changes, difference }
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
