// Importing and updating from a file: read it, and compare it with the catalog.
import { parseCatalog, type CatalogFile, type CatalogOrigin, type ExportSource } from '../../catalog/catalog-file.ts'
import { parseCatalogSheets } from '../../catalog/catalog-sheet.ts'
import { applyPatches, parseUpdateJson, parseUpdateSheets, type CatalogUpdate } from '../../catalog/plan-patch.ts'
import { isSameJson } from '../../catalog/merge-plan.ts'
import { fillOlderPlan } from '../../catalog/older-plan.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { Spreadsheet } from '../../catalog/plan-table.ts'
import { isRecordedRevision, selectCatalog, selectCatalogAt } from '../../db/catalog-queries.ts'
import type { Database } from '../../db/database.ts'
import { selectPublications } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { compareCatalogs, type CatalogDifference } from './catalog-difference.ts'
import { checkConsistency, refuseDefects } from './defects.ts'
import { formatConflict, mergeCatalog } from './catalog-merge.ts'
import { countPlans, type CatalogChange, type OnProgress } from './publications.ts'
import { findTakenBack } from './taken-back.ts'
import { UserError } from '../shared/user-error.ts'

export interface CatalogImport extends CatalogChange {
  difference: CatalogDifference
  /** Whether the file said which revision it was exported at. */
  isMerged: boolean
  /** What the file takes back of recent publications. The operator must know it before the question. */
  warnings: string[]
  /** What the operator should know about the work of others since the export. */
  notes: string[]
}

export interface ImportChoice {
  /** Whether plans that are not in the file are removed. With the country of a file, they only leave its list. */
  isPruning?: boolean
  /** Whether to ignore the revision of the file: it replaces what others changed since. */
  isOverwriting?: boolean
}

/** A catalog file: JSON, or the sheets of a spreadsheet. */
export type CatalogInput =
  | { kind: 'json'; text: string }
  /** `isOpen`: a text whose last line has no end. */
  | { kind: 'spreadsheet'; spreadsheet: Spreadsheet; isOpen?: boolean }

/** The authors of a conflict that are named. */
const maxAuthors = 5

export const nothingImported = 'Nothing was imported.'

/**
 * Reads the plans of a catalog file.
 * @param store tells which values the file changed when its plans contradict each other.
 * @throws UserError with one line for each defect.
 */
export async function readCatalog(input: CatalogInput, onProgress: OnProgress, { read }: Store): Promise<CatalogFile> {
  const onChecked = (done: number, total: number) => onProgress('Checking the plans', done, total)
  const parse = (known: Plans) =>
    input.kind === 'json'
      ? parseCatalog(input.text, onChecked, known)
      : parseCatalogSheets(input.spreadsheet, onChecked, known)
  const found = parse([])
  const result = found.kind === 'invalid' ? parse((await selectCatalog(read)).plans) : found
  if (result.kind === 'invalid') throw refuseDefects(result.defects, ...result.advice, nothingImported)
  return result
}

/** Reads the rows of a file of partial updates. Its defects are in the result: only the catalog tells the others. */
export function readUpdate(input: CatalogInput): CatalogUpdate {
  return input.kind === 'json' ? parseUpdateJson(input.text) : parseUpdateSheets(input.spreadsheet)
}

/**
 * Compares a file with the catalog and changes nothing. When the file says which revision it was exported at, only what
 * it changes against that revision counts, and what others changed since stays.
 * @throws UserError when the file and somebody else changed the same field, the file can't be merged, the resulting
 *   catalog would contradict itself, or a plan would change its ID or identifier.
 */
export function prepareImport(store: Store, file: CatalogFile, choice: ImportChoice = {}): Promise<CatalogImport> {
  return prepareMerge(store, file, choice, (base) => ({ base, plans: file.plans }))
}

/**
 * Like `prepareImport`, for a file that only has some fields of some plans: the others stay as they are.
 * @throws UserError also for a defect of the file, when the catalog has no plan with an identifier, or a plan would become
 *   invalid.
 */
export function prepareUpdate(store: Store, file: CatalogUpdate, choice: ImportChoice = {}): Promise<CatalogImport> {
  return prepareMerge(store, file, choice, (base, current) => {
    const baseIds = new Set(base?.map(({ id }) => id))
    // Plans that were added after the export can be updated, too.
    const known = base ? [...base, ...current.filter(({ id }) => !baseIds.has(id))] : current
    const { plans, defects } = applyPatches(file, known)
    if (defects.length > 0) throw refuseDefects(defects, ...file.advice, nothingImported)
    return { base: base && known, plans }
  })
}

type Plans = readonly CatalogPlan[]

/** @param decide returns the plans to put, and what they were edited from: undefined to put them as they are. */
async function prepareMerge(
  { read }: Store,
  { origin, country }: ExportSource,
  { isPruning = false, isOverwriting = false }: ImportChoice,
  decide: (base: Plans | undefined, current: Plans) => { base: Plans | undefined; plans: Plans },
): Promise<CatalogImport> {
  const { origin: now, plans: before } = await selectCatalog(read)
  const recorded = origin && !isOverwriting ? await selectBase(read, origin, now) : undefined
  // Filled for the merge, because the file is; compared below as they are stored, so that an import adds a new field.
  const current = before.map((plan) => fillOlderPlan(plan))
  const { base, plans } = decide(
    recorded?.map((plan) => fillOlderPlan(plan)),
    current,
  )
  const known = new Map(before.map((plan) => [plan.id, plan]))
  // A field of the catalog that this copy of the code doesn't know stays.
  const file = plans.map((plan) => Object.assign({}, known.get(plan.id), plan))
  const merge = mergeCatalog({ base, file, current, isPruning, country })
  if (merge.conflicts.length > 0) {
    const named = new Set(merge.conflicts.map(({ identifier }) => identifier))
    const planIds = [...(base ?? []), ...before].filter((plan) => named.has(plan.identifier)).map(({ id }) => id)
    const later = await selectPublications(read, { planIds, afterRevision: origin?.revision })
    const authors = later.slice(0, maxAuthors).map(({ id, actor }) => `${actor} (publication ${id})`)
    const who = authors.length === 0 ? [] : [`The catalog was changed by ${authors.join(', ')}.`]
    const fix =
      'Edit the file, or export the catalog again and edit that. --overwrite takes the whole file, and replaces what others changed.'
    throw new UserError([...merge.conflicts.map(formatConflict), ...who, fix, nothingImported])
  }
  const concerned = new Set([...merge.removedIds, ...merge.put.map(({ id }) => id)])
  const untouched = before.filter(({ id }) => !concerned.has(id))
  const strangers = findIdentityConflicts(before, untouched, merge.put)
  if (strangers.length > 0) {
    const fix =
      'An ID never becomes another plan. Change the file; or to begin anew, first import { "plans": [] } with --prune.'
    throw new UserError([...strangers, fix, nothingImported])
  }
  checkConsistency([...untouched, ...merge.put], before, nothingImported)

  const touched = before.filter(({ id }) => concerned.has(id))
  const difference = compareCatalogs(touched, merge.put)
  const { added, changed, removed } = difference
  const changes = [
    ...[...added, ...changed].map((after) => ({ planId: after.id, before: known.get(after.id) ?? null, after })),
    ...removed.map((plan) => ({ planId: plan.id, before: plan, after: null })),
  ]
  const warnings = recorded ? [] : await findTakenBack(read, changes)
  const notes = recorded ? describeKept(file, merge.put) : []
  return { baseRevision: now.revision, changes, difference, isMerged: base !== undefined, warnings, notes }
}

/** @throws UserError when the record does not know the revision of the file. */
async function selectBase(read: Database, origin: CatalogOrigin, now: CatalogOrigin): Promise<CatalogPlan[]> {
  if (origin.catalog !== now.catalog) throw refuseMerge('The file was exported from another catalog.')
  if (origin.revision !== now.revision && !(await isRecordedRevision(read, origin.revision))) {
    throw refuseMerge('The record does not know the revision of the file: was the database restored?')
  }
  return selectCatalogAt(read, origin.revision)
}

function describeKept(file: Plans, merged: Plans): string[] {
  const mergedById = new Map(merged.map((plan) => [plan.id, plan]))
  const kept = file.filter((plan) => !isSameJson(plan, mergedById.get(plan.id) ?? plan))
  return kept.length === 0 ? [] : [`${countPlans(kept.length)} changed since the export: those values stay.`]
}

function refuseMerge(reason: string): UserError {
  const fix =
    'Export the catalog again, or add --overwrite: then the plans of the file replace those of the catalog, including changes that others made.'
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
