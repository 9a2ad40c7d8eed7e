// catalog import, export, purge
import { Option, type Command } from 'commander'
import { formatCatalog } from '../../catalog/catalog-file.ts'
import type { CatalogDifference } from '../core/catalog-difference.ts'
import { prepareImport, readCatalog, type ImportChoice } from '../core/catalog-import.ts'
import { readCatalogFile } from '../core/catalog-history.ts'
import { outdateLists } from '../core/catalog-plans.ts'
import { countPlans, publishChange, type Publication } from '../core/publications.ts'
import { parseOptionalTime } from '../core/time-arguments.ts'
import { readInput } from '../store/read-input.ts'
import type { Target } from '../store/target.ts'
import { confirm } from '../terminal/confirm.ts'
import { createProgress, withProgress } from '../terminal/progress.ts'
import { addCommand, addPublicationOptions, pastTimeOption } from './add-command.ts'
import type { CommandContext } from './command-context.ts'
import { formatCountries } from './difference-output.ts'
import {
  describeOverlaps,
  describePublication,
  publicationToJson,
  readPublicationRequest,
  type PublicationOptions,
} from './publication-output.ts'

interface ImportOptions extends PublicationOptions {
  dryRun?: boolean
  prune?: boolean
  merge: boolean
  fresh?: boolean
  ours?: boolean
  theirs?: boolean
  json?: boolean
  yes?: boolean
}

export function addCatalogCommands(catalog: Command, context: CommandContext): void {
  const { io, withStore } = context
  const add = addCommand.bind(undefined, catalog)

  addPublicationOptions(
    add(
      'import <file>',
      'import plans from a catalog file (- for standard input), all or none; plans that are not in the file stay',
      'import src/catalog/demo.json --dry-run',
    ),
  )
    .option('--dry-run', 'show what would change for partners, country by country, and change nothing')
    .option('--prune', 'remove the plans that are not in the file; of the export of a country, only from its list')
    .addOption(
      new Option('--ours', 'where the file and somebody else changed a field: take the file’s').conflicts('theirs'),
    )
    .option('--theirs', 'where the file and somebody else changed a field: keep the catalog’s')
    .addOption(
      new Option('--fresh', 'start from an empty catalog: the file replaces every plan, whatever its ID').conflicts([
        'prune',
        'ours',
        'theirs',
      ]),
    )
    .option('--no-merge', 'ignore the revision of the file: its plans replace those of the catalog')
    .option(
      '--json',
      'print an object: the numbers of plans added, changed, removed and unchanged, the countries, and the publication',
    )
    .option('--yes', 'skip the question that --remote asks before plans are changed or removed')
    .action(async (file: string, options: ImportOptions) => {
      if (!options.json) io.stderr.write(`${describeMode(options)}\n`)
      const progress = createProgress(io)
      try {
        const catalogFile = readCatalog(await readInput(file, io.stdin), progress.update)
        // Fails before the work, not after it.
        const request = options.dryRun ? undefined : await readPublicationRequest(context, options)
        const { difference, isMerged, publication } = await withStore(options, async (store) => {
          progress.update('Reading the catalog', 0, 1)
          const prepared = await prepareImport(store, catalogFile, readChoice(options))
          if (request === undefined) return { ...prepared, publication: undefined }
          progress.end()
          const losses = describeLosses(prepared.difference)
          if (losses !== '') await confirm(io, options, losses)
          const made = await publishChange(store, prepared, { ...request, onProgress: progress.update })
          return { ...prepared, publication: made }
        })
        progress.end()
        if (options.json) io.stdout.write(formatJson(difference, isMerged, publication))
        else {
          if (!isMerged && !options.fresh && difference.changed.length + difference.removed.length > 0)
            io.stderr.write(`${notMerged}\n`)
          printResult(difference, publication, options)
        }
      } finally {
        progress.end()
      }
    })

  add('export', 'print the catalog as a file that import reads back unchanged', 'export --country KE > kenya.json')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .addOption(pastTimeOption())
    .option('--json', 'has no effect: a catalog file is always JSON')
    .action(async ({ country, at, ...target }: { country?: string; at?: string } & Target) => {
      const atSeconds = parseOptionalTime(at)
      const { plans, ...origin } = await withProgress(io, 'Reading the catalog', () =>
        withStore(target, (store) => readCatalogFile(store, country, atSeconds)),
      )
      io.stdout.write(formatCatalog(plans, origin))
    })

  add('purge', 'invalidate every cached plan list; every change of the catalog does it by itself', 'purge')
    .option('--json', 'print an object with the new revision of the catalog')
    .action(async ({ json, ...target }: { json?: boolean } & Target) => {
      const revision = await withStore(target, outdateLists)
      const sentence = 'Every cached plan list is invalid. Requests read the database within two minutes.'
      io.stdout.write(`${json ? JSON.stringify({ revision }) : sentence}\n`)
    })

  function printResult(difference: CatalogDifference, publication: Publication | undefined, options: ImportOptions) {
    io.stdout.write(formatDifference(difference, publication, options))
    if (publication === undefined) return
    for (const warning of describeOverlaps(publication, options)) io.stderr.write(`${warning}\n`)
    io.stdout.write(`${describePublication(publication, options)}\n`)
  }
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
