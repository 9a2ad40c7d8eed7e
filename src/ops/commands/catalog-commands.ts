// The code of ops catalog import, update, export, invalidate, check
import { checkCatalog } from '../core/catalog-check.ts'
import type { CatalogDifference } from '../core/catalog-difference.ts'
import { chooseExportFormat, formatCatalogFile, parseCatalogInput } from '../core/catalog-formats.ts'
import {
  prepareImport,
  prepareUpdate,
  readCatalog,
  readUpdate,
  type CatalogImport,
  type CatalogInput,
  type ImportChoice,
} from '../core/catalog-import.ts'
import { readCatalogFile } from '../core/catalog-plans.ts'
import {
  countPlans,
  invalidateLists,
  publishChange,
  type OnProgress,
  type PlanChange,
  type Publication,
} from '../core/publications.ts'
import { readInput } from '../store/read-input.ts'
import type { Store } from '../store/store.ts'
import { writeOutput } from '../store/write-output.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import type { catalogDeclarations } from './catalog-declarations.ts'
import type { Handlers, InputOf } from './verb.ts'
import { formatCountries } from './difference-output.ts'
import { createRequest, printPublication, publicationToJson, reviewChanges } from './publication-output.ts'
import type { Output } from './run.ts'

type Declarations = typeof catalogDeclarations
type UpdateInput = InputOf<Declarations['update']>
/** `update` has no --prune. */
type FileInput = UpdateInput & { prune?: boolean }
type ChangeRun = Parameters<Handlers<Declarations>['import']>[1]

/** How a command reads its file, and compares it with the catalog. */
interface FileWork<File> {
  read: (input: CatalogInput, onProgress: OnProgress, store: Store) => File | Promise<File>
  prepare: (store: Store, file: File, choice: ImportChoice) => Promise<CatalogImport>
}

export const catalogCommands: Handlers<Declarations> = {
  import: (input, run) => publishFile(input, run, { read: readCatalog, prepare: prepareImport }),
  update: (input, run) => publishFile(input, run, { read: readUpdate, prepare: prepareUpdate }),

  async export({ country, at, output }, { target, withStore, io, report }) {
    const format = chooseExportFormat(output)
    const catalogFile = await withStore(target, (store) => readCatalogFile(store, country, at))
    const content = await formatCatalogFile(catalogFile, format)
    if (output === undefined) return void io.stdout.write(String(content))
    await writeOutput(output, content)
    report(`Wrote ${countPlans(catalogFile.plans.length)} to ${output}.`)
  },

  async invalidate(_, { store, attribution }) {
    const revision = await invalidateLists(store, attribution)
    const sentence = `Every cached plan list is invalid. Requests read the database within ${freshness}.`
    return { data: { revision }, text: `${sentence}\n` }
  },

  async check(_, { store }) {
    const findings = await checkCatalog(store)
    const errors = findings.filter(({ level }) => level === 'error').length
    return {
      data: findings,
      text: findings.map(({ level, subject, message }) => ({ LEVEL: level, SUBJECT: subject, FINDING: message })),
      note: findings.length === 0 ? 'Nothing to look at.' : undefined,
      findings: errors === 0 ? undefined : `${errors === 1 ? '1 error needs' : `${errors} errors need`} a fix.`,
    }
  },
}

/** Publishes what a file changes, or only shows it. A file that is neither text nor a spreadsheet is refused before a store is opened. */
async function publishFile<File>(
  input: FileInput,
  run: ChangeRun,
  { read, prepare }: FileWork<File>,
): Promise<Output | void> {
  const { file, decimalComma, dryRun, json, prune = false, overwrite } = input
  const { target, update, warn, report } = run
  const content = await parseCatalogInput(file, await readInput(file, run.io.stdin), decimalComma)
  const { difference, isMerged, publication } = await run.withStore(target, async (store) => {
    const parsed = await read(content, update, store)
    update('Comparing with the catalog', 0, 1)
    const prepared = await prepare(store, parsed, { isPruning: prune, isOverwriting: overwrite })
    warn(...prepared.notes.map((note) => `Note: ${note}`))
    // Some programs write no end, so that this alone is no question.
    if (content.kind === 'spreadsheet' && content.isOpen) warn('Warning: the last line has no end. Was the file cut?')
    const question = { describeEffect: describeLosses, warnings: prepared.warnings }
    if (dryRun) await reviewChanges(run, input, store, prepared.changes, question)
    const made = dryRun ? undefined : await publishChange(store, prepared, createRequest(run, input, question))
    return { ...prepared, publication: made }
  })
  if (json) return { data: toJson(difference, isMerged, publication), text: '' }
  report(...formatDifference(difference, publication, input))
  printPublication(run, publication)
}

function describeLosses(changes: readonly PlanChange[]): string | undefined {
  const removed = changes.filter(({ after }) => after === null).length
  const changed = changes.filter(({ before, after }) => before && after).length
  const losses = [
    ...(changed > 0 ? [`${countPlans(changed)} will be changed.`] : []),
    ...(removed > 0 ? [`${countPlans(removed)} will be removed.`] : []),
  ]
  return losses.length > 0 ? losses.join(' ') : undefined
}

function toJson(difference: CatalogDifference, isMerged: boolean, publication: Publication | undefined) {
  const { added, changed, removed, unchanged, countries, unseen } = difference
  const counts = { added: added.length, changed: changed.length, removed: removed.length, unchanged }
  return { ...counts, countries, unseen, isMerged, publication: publicationToJson(publication) }
}

function formatDifference(
  difference: CatalogDifference,
  publication: Publication | undefined,
  { dryRun, prune }: { dryRun: boolean; prune?: boolean },
): string[] {
  const { added, changed, removed, unchanged } = difference
  const lines = dryRun ? formatCountries(difference) : []
  const counts = [`${added.length} added`, `${changed.length} changed`, `${unchanged} unchanged`]
  if (prune) counts.push(`${removed.length} removed`)
  const isPublished = publication === undefined || publication.state === 'published'
  const verb = dryRun ? 'Would import' : isPublished ? 'Imported' : 'Staged'
  const total = added.length + changed.length + unchanged
  return [...lines, `${verb} ${countPlans(total)}: ${counts.join(', ')}.`]
}
