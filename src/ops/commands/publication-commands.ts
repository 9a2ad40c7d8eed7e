// catalog log, show, undo, approve, reject, cancel
import type { Command } from 'commander'
import { abbreviate } from '../../abbreviate.ts'
import type { Attribution } from '../core/attribution.ts'
import { readDatabaseSeconds } from '../core/change-record.ts'
import type { CatalogDifference } from '../core/catalog-difference.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { listPublications, readPublication, verifyRecord, type PublicationDetails } from '../core/publication-log.ts'
import { prepareUndo } from '../core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  countPlans,
  findPublication,
  publishChange,
  rejectPublication,
  type PublicationRow,
} from '../core/publications.ts'
import { parsePast } from '../core/time-arguments.ts'
import { UserError } from '../shared/user-error.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { confirm } from '../terminal/confirm.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import { addAttributionOptions, addCommand, addPublicationOptions } from './add-command.ts'
import { readAttribution, type ChangeOptions, type CommandContext, type OutputOptions } from './command-context.ts'
import { formatCountries } from './difference-output.ts'
import {
  printDoubts,
  printPublication,
  publicationToJson,
  readPublicationRequest,
  reviewChanges,
  type PublicationOptions,
} from './publication-output.ts'

interface LogOptions extends OutputOptions {
  plan?: string
  since?: string
  pending?: boolean
  verify?: boolean
}

interface UndoOptions extends PublicationOptions {
  dryRun?: boolean
  plan?: string
}

export function addPublicationCommands(catalog: Command, context: CommandContext): void {
  const { io, withStore } = context
  const add = addCommand.bind(undefined, catalog)

  add('log', 'list the publications: who changed the catalog, when and why, the latest first', 'log --since 7d')
    .option('--plan <id>', 'only publications that changed this plan')
    .option(
      '--since <time>',
      'only since then: a duration such as 7d, a date (from 00:00 UTC), or a time with its zone',
    )
    .option('--pending', 'only publications that wait for their time or for approval')
    .option('--verify', 'compute every hash of the record again, and name the first publication that does not fit')
    .option('--json', 'print an array, the latest first; with --verify an object')
    .action(async (options: LogOptions) => {
      const { plan, pending: isPending } = options
      if (options.verify) {
        if (plan !== undefined || options.since !== undefined || isPending) {
          throw new UserError('--verify checks the whole record: leave --plan, --since and --pending out.')
        }
        await verify(options)
        return
      }
      const rows = await withStore(options, async (store) => {
        const since =
          options.since === undefined ? undefined : parsePast(options.since, await readDatabaseSeconds(store))
        return listPublications(store, { plan, since, isPending })
      })
      const note = rows.length === 0 ? describeEmptyLog(options) : undefined
      printResult(io, options, rows.map(toJson), formatTable(rows.map(toTableRow)), note)
    })

  add('show <number>', 'show a publication, and what partners of each country gain, lose and see changed', 'show 12')
    .option('--json', 'print an object, with each plan before and after')
    .action(async (number: string, options: OutputOptions) => {
      const details = await withStore(options, (store) => readPublication(store, parseNumber(number)))
      printResult(io, options, detailsToJson(details), formatDetails(details))
    })

  addPublicationOptions(
    add('undo <number>', 'take a publication back, unless later ones changed the same plans', 'undo 12'),
  )
    .option('--dry-run', 'show what would change for partners, country by country, and change nothing')
    .option('--plan <id>', 'take back only the change of this plan')
    .option('--json', 'print an object with the countries and the publication')
    .option('--yes', 'skip the question that --remote asks')
    .action(async (number: string, options: UndoOptions) => {
      const id = parseNumber(number)
      const request = options.dryRun ? undefined : await readPublicationRequest(context, options)
      const { countries, unseen, publication } = await withStore(options, async (store) => {
        const { difference, ...change } = await prepareUndo(store, id, options.plan)
        printDifference(difference, options)
        if (request === undefined) {
          await reviewChanges(context, options, store, change.changes)
          return { ...difference, publication: undefined }
        }
        await confirm(io, options, `${countPlans(change.changes.length)} will be as before publication ${id}.`)
        return { ...difference, publication: await publishChange(store, change, { ...request, undoneId: id }) }
      })
      if (options.json) {
        io.stdout.write(`${JSON.stringify({ countries, unseen, publication: publicationToJson(publication) })}\n`)
      } else printPublication(io, publication, options)
    })

  addDecision('approve <number>', 'let a publication of another operator be published', 'approve 12')
    .option('--yes', 'skip the question that --remote asks')
    .action((number: string, options: ChangeOptions) =>
      decide(number, options, async (store, id, attribution) => {
        const { row, changes, difference } = await readPublication(store, id)
        if (row.state === 'waiting') {
          printDifference(difference, options)
          await printDoubts(context, store, changes, row.dueAt)
          await confirm(io, options, `Publication ${id} will be published.`)
        }
        await approvePublication(store, id, attribution)
      }),
    )

  addDecision('reject <number>', 'end a publication that waits for approval', 'reject 12 --note "Wrong month."').action(
    (number: string, options: ChangeOptions) => decide(number, options, rejectPublication),
  )

  addDecision('cancel <number>', 'end a publication that waits, is scheduled, or conflicted', 'cancel 12').action(
    (number: string, options: ChangeOptions) => decide(number, options, cancelPublication),
  )

  function addDecision(usage: string, description: string, example: string): Command {
    return addAttributionOptions(add(usage, description, example)).option(
      '--json',
      'print the publication as an object',
    )
  }

  function printDifference(difference: CatalogDifference, { json }: OutputOptions) {
    if (json) return
    for (const line of formatCountries(difference)) io.stdout.write(`${line}\n`)
  }

  async function decide(
    number: string,
    options: ChangeOptions,
    work: (store: Store, id: number, attribution: Attribution) => Promise<void>,
  ) {
    const id = parseNumber(number)
    const attribution = await readAttribution(context, options)
    const row = await withStore(options, async (store) => {
      await work(store, id, attribution)
      return findPublication(store, id)
    })
    const when = row.state === 'scheduled' ? ` for ${formatIsoTime(row.dueAt ?? 0)}` : ''
    printResult(io, options, toJson(row), `Publication ${id} is ${row.state}${when}.\n`)
  }

  async function verify(options: LogOptions) {
    const { count, problem, lastHash } = await withProgress(io, 'Computing the hashes', () =>
      withStore(options, verifyRecord),
    )
    if (problem !== undefined) {
      const show = describeCommand(options, 'catalog', 'log')
      throw new UserError(`${problem} Compare it with a backup. See: ${show}`)
    }
    const last = lastHash === undefined ? '' : ` Hash of the last one, to keep outside the database: ${lastHash}`
    const sentence = `The record of the catalog is intact: ${count} entries.${last}\n`
    printResult(io, options, { count, lastHash: lastHash ?? null }, sentence)
  }
}

/** @throws UserError unless it is the number of a publication. */
function parseNumber(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new UserError(`The number of a publication is a whole number, such as 12; it is ${abbreviate(text)}.`)
}

/** The time that matters in the state of a publication, in Unix seconds. */
function readTime({ entries, dueAt, createdAt }: PublicationRow): number {
  return entries.at(-1)?.madeAt ?? dueAt ?? createdAt
}

function toTableRow(row: PublicationRow): Record<string, string> {
  const { id, state, planCount, actor, note, entries } = row
  return {
    NUMBER: String(id),
    STATE: state,
    TIME: formatIsoTime(readTime(row)),
    PLANS: String(planCount),
    BY: actor,
    NOTE: [note, ...entries.map((entry) => entry.note)].filter((text) => text !== null).join('; '),
  }
}

function formatDetails({ row, difference, clash }: PublicationDetails): string {
  const pairs: [string, string | null][] = [
    ['number', String(row.id)],
    ['state', row.state],
    ['actor', row.actor],
    ['command', row.command],
    ['note', row.note],
    ['undoes', row.undoneId === null ? null : String(row.undoneId)],
    ['made', formatIsoTime(row.createdAt)],
    ['due', formatOptionalTime(row.dueAt)],
    ...row.entries.flatMap(({ kind, actor, madeAt, note }): [string, string | null][] => [
      [kind, `${formatIsoTime(madeAt)}, by ${actor}`],
      ['because', note],
    ]),
    ['conflict', clash ?? null],
    ['revision', row.revision === null ? null : String(row.revision)],
    ['plans', String(row.planCount)],
  ]
  const given = pairs.flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]]))
  return [formatPairs(given), ...formatCountries(difference).map((line) => `${line}\n`)].join('')
}

function toJson({ id, state, actor, command, note, planCount, undoneId, revision, ...row }: PublicationRow) {
  return {
    id,
    state,
    actor,
    command,
    note,
    planCount,
    undoneId,
    createdAt: formatIsoTime(row.createdAt),
    dueAt: formatOptionalTime(row.dueAt),
    revision,
    entries: row.entries.map(entryToJson),
  }
}

function entryToJson({ id, kind, actor, note, madeAt, revision, previousHash }: PublicationRow['entries'][number]) {
  return { id, kind, actor, note, madeAt: formatIsoTime(madeAt), revision, previousHash }
}

function detailsToJson({ row, changes, difference: { countries, unseen } }: PublicationDetails) {
  return { ...toJson(row), plans: changes, countries, unseen }
}

function describeEmptyLog({ plan, since, pending }: LogOptions): string {
  const filters = [
    ...(plan === undefined ? [] : [`changed the plan ${abbreviate(plan)}`]),
    ...(since === undefined ? [] : [`is since ${since}`]),
    ...(pending ? ['waits for its time or for approval'] : []),
  ]
  return filters.length === 0 ? 'Nothing has been published yet.' : `No publication ${filters.join(' and ')}.`
}
