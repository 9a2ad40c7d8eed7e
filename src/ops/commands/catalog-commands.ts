// catalog import, update, export, invalidate
import { Option, type Command } from 'commander'
import type { CatalogDifference } from '../core/catalog-difference.ts'
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
import { countPlans, invalidateLists, publishChange, type OnProgress, type Publication } from '../core/publications.ts'
import { parseOptionalTime } from '../core/time-arguments.ts'
import {
  chooseExportFormat,
  fileFormats,
  formatCatalogFile,
  parseCatalogInput,
  type FileFormat,
} from '../core/catalog-formats.ts'
import { readInput } from '../store/read-input.ts'
import type { Store } from '../store/store.ts'
import type { Target } from '../shared/target.ts'
import { writeOutput } from '../store/write-output.ts'
import { confirm } from '../terminal/confirm.ts'
import { printResult } from '../terminal/print-result.ts'
import { createProgress, withProgress } from '../terminal/progress.ts'
import { addAttributionOptions, addCommand, addPublicationOptions, pastTimeOption } from './add-command.ts'
import { readAttribution, type ChangeOptions, type CommandContext } from './command-context.ts'
import { formatCountries } from './difference-output.ts'
import {
  printPublication,
  publicationToJson,
  readPublicationRequest,
  reviewChanges,
  type PublicationOptions,
} from './publication-output.ts'

/** The options of the commands that change the catalog from a file. */
interface FileOptions extends PublicationOptions {
  format?: FileFormat
  decimalComma?: boolean
  dryRun?: boolean
  merge: boolean
  ours?: boolean
  theirs?: boolean
}

interface ImportOptions extends FileOptions {
  prune?: boolean
  fresh?: boolean
}

interface ExportOptions extends Target {
  country?: string
  at?: string
  format?: FileFormat
  output?: string
}

/** How a command reads its file, and compares it with the catalog. */
interface FileWork<File> {
  read: (input: CatalogInput, onProgress: OnProgress) => File
  prepare: (store: Store, file: File) => Promise<CatalogImport>
  /** What to say about a file without a revision. */
  notMerged?: string | undefined
}

export function addCatalogCommands(catalog: Command, context: CommandContext): void {
  const { io, withStore } = context
  const add = addCommand.bind(undefined, catalog)

  addFileOptions(
    add(
      'import <file>',
      'import plans from a catalog file (- for standard input), all or none; plans that are not in the file stay',
      'import src/catalog/demo.json --dry-run',
    ),
  )
    .option('--prune', 'remove the plans that are not in the file; of the export of a country, only from its list')
    .addOption(
      new Option('--fresh', 'start from an empty catalog: the file replaces every plan, whatever its ID').conflicts([
        'prune',
        'ours',
        'theirs',
      ]),
    )
    .action((file: string, options: ImportOptions) =>
      publishFile(file, options, {
        read: readCatalog,
        prepare: (store, catalogFile) => prepareImport(store, catalogFile, readChoice(options)),
        notMerged: options.fresh || !options.merge ? undefined : notMerged,
      }),
    )

  addFileOptions(
    add(
      'update <file>',
      'change some fields of some plans from a file: rows with identifier and any other columns; an empty cell changes nothing',
      'update performance.xlsx --dry-run',
    ),
  ).action((file: string, options: FileOptions) =>
    publishFile(file, options, {
      read: readUpdate,
      prepare: (store, update) => prepareUpdate(store, update, readChoice(options)),
    }),
  )

  add('export', 'write the catalog as a file that import reads back unchanged', 'export --output plans.xlsx')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .addOption(pastTimeOption)
    .addOption(formatOption('the format of the file; by default what --output ends with, or json'))
    .option('--output <file>', 'the file to write, or to replace; standard output by default')
    .option('--json', 'has no effect: without --format, a catalog file is JSON')
    .action(async ({ country, at, format: named, output, ...target }: ExportOptions) => {
      const atSeconds = parseOptionalTime(at)
      const format = chooseExportFormat(output, named)
      const catalogFile = await withProgress(io, 'Reading the catalog', () =>
        withStore(target, (store) => readCatalogFile(store, country, atSeconds)),
      )
      const content = await formatCatalogFile(catalogFile, format)
      if (output === undefined) return void io.stdout.write(String(content))
      await writeOutput(output, content)
      io.stdout.write(`Wrote ${countPlans(catalogFile.plans.length)} to ${output}.\n`)
    })

  addAttributionOptions(
    add('invalidate', 'invalidate every cached plan list; every change of the catalog does it by itself', 'invalidate'),
  )
    .option('--json', 'print an object with the new revision of the catalog')
    .action(async (options: ChangeOptions) => {
      const attribution = await readAttribution(context, options)
      const revision = await withStore(options, (store) => invalidateLists(store, attribution))
      const sentence = 'Every cached plan list is invalid. Requests read the database within two minutes.'
      printResult(io, options, { revision }, `${sentence}\n`)
    })

  /** Publishes what a file changes, or only shows it. */
  async function publishFile<File>(file: string, options: ImportOptions, { read, prepare, ...work }: FileWork<File>) {
    if (!options.json) io.stderr.write(`${describeMode(options)}\n`)
    const progress = createProgress(io)
    try {
      const { format, decimalComma: hasDecimalComma } = options
      const bytes = await readInput(file, io.stdin)
      const parsed = read(await parseCatalogInput(file, bytes, { format, hasDecimalComma }), progress.update)
      // Fails before the work, not after it.
      const request = options.dryRun ? undefined : await readPublicationRequest(context, options)
      const { difference, isMerged, publication } = await withStore(options, async (store) => {
        progress.update('Reading the catalog', 0, 1)
        const prepared = await prepare(store, parsed)
        for (const note of prepared.notes) io.stderr.write(`Note: ${note}\n`)
        if (request === undefined) {
          await reviewChanges(context, options, store, prepared.changes)
          return { ...prepared, publication: undefined }
        }
        progress.end()
        const losses = describeLosses(prepared.difference)
        if (losses !== '') await confirm(io, options, losses)
        const made = await publishChange(store, prepared, { ...request, onProgress: progress.update })
        return { ...prepared, publication: made }
      })
      progress.end()
      if (options.json) return void io.stdout.write(formatJson(difference, isMerged, publication))
      const hasLosses = difference.changed.length + difference.removed.length > 0
      if (!isMerged && hasLosses && work.notMerged !== undefined) io.stderr.write(`${work.notMerged}\n`)
      io.stdout.write(formatDifference(difference, publication, options))
      printPublication(io, publication, options)
    } finally {
      progress.end()
    }
  }
}

/** Adds the options of a command that changes the catalog from a file. */
function addFileOptions(command: Command): Command {
  return addPublicationOptions(command)
    .addOption(formatOption('the format of the file; by default what its name and content say'))
    .option('--decimal-comma', 'numbers in text have a decimal comma, such as 12,4')
    .option('--dry-run', 'show what would change for partners, country by country, and change nothing')
    .addOption(
      new Option('--ours', 'where the file and somebody else changed a field: take the file’s').conflicts('theirs'),
    )
    .option('--theirs', 'where the file and somebody else changed a field: keep the catalog’s')
    .option('--no-merge', 'ignore the revision of the file: what it says replaces what the catalog says')
    .option(
      '--json',
      'print an object: the numbers of plans added, changed, removed and unchanged, the countries, and the publication',
    )
    .option('--yes', 'skip the question that --remote asks before plans are changed or removed')
}

function formatOption(description: string): Option {
  return new Option('--format <name>', description).choices(fileFormats)
}

const notMerged =
  'Not merged, because the file has no revision: its plans replace those of the catalog, including changes that others made.'

function readChoice({ prune, fresh, merge, ours, theirs }: ImportOptions): ImportChoice {
  return {
    isPruning: prune ?? false,
    isFresh: fresh ?? false,
    isMerging: merge,
    decision: ours ? 'ours' : theirs ? 'theirs' : 'refuse',
  }
}

/** Printed first, so that a --dry-run or --remote that npm kept for itself is noticed. */
function describeMode({ dryRun, remote, env }: ImportOptions): string {
  const where = remote ? `[${env}]` : 'the local state'
  return dryRun ? `Dry run on ${where}: nothing will be changed.` : `Importing into ${where}.`
}

function describeLosses({ changed, removed }: CatalogDifference): string {
  return [
    ...(changed.length > 0 ? [`${countPlans(changed.length)} will be changed.`] : []),
    ...(removed.length > 0 ? [`${countPlans(removed.length)} will be removed.`] : []),
  ].join(' ')
}

function formatJson(difference: CatalogDifference, isMerged: boolean, publication: Publication | undefined): string {
  const { added, changed, removed, unchanged, countries, unseen } = difference
  const counts = { added: added.length, changed: changed.length, removed: removed.length, unchanged }
  return `${JSON.stringify({ ...counts, countries, unseen, isMerged, publication: publicationToJson(publication) })}\n`
}

function formatDifference(
  difference: CatalogDifference,
  publication: Publication | undefined,
  { dryRun, prune, fresh }: ImportOptions,
): string {
  const { added, changed, removed, unchanged } = difference
  const lines = dryRun ? formatCountries(difference) : []
  const counts = [`${added.length} added`, `${changed.length} changed`, `${unchanged} unchanged`]
  if (prune || fresh) counts.push(`${removed.length} removed`)
  const isPublished = publication === undefined || publication.state === 'published'
  const verb = dryRun ? 'Would import' : isPublished ? 'Imported' : 'Staged'
  const total = added.length + changed.length + unchanged
  return [...lines, `${verb} ${countPlans(total)}: ${counts.join(', ')}.`, ''].join('\n')
}
