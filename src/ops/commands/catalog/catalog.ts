// ops catalog …
import { abbreviate } from '../../../abbreviate.ts'
import { checkCatalog } from '../../core/plan-rules/catalog-check.ts'
import { compareChange } from '../../core/differences/catalog-difference.ts'
import { chooseExportFormat, formatCatalogFile, parseCatalogInput } from '../../core/catalog/catalog-formats.ts'
import {
  prepareImport,
  prepareUpdate,
  readCatalog,
  readUpdate,
  type CatalogImport,
} from '../../core/catalog/catalog-import.ts'
import { readCatalogFile } from '../../core/catalog/catalog-plans.ts'
import { foldFindings } from '../../core/plan-rules/plan-findings.ts'
import {
  describeOwners,
  findPlanChange,
  isPending,
  listPublications,
  openStates,
  readPublication,
} from '../../core/publications/publication-log.ts'
import { endRedone, prepareRedo, prepareUndo } from '../../core/publications/publication-undo.ts'
import {
  approvePublication,
  checkApprovable,
  cancelPublication,
  countPlans,
  findPublication,
  invalidateLists,
  isOpen,
  publishChange,
  type PreparedChange,
  type PublicationRow,
} from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { readInput } from '../../store/read-input.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { describePlace } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import {
  createRequest,
  describeApproval,
  describeChange,
  describeTime,
  describeWayBack,
  formatDifference,
  listParts,
  printDoubts,
  printPublication,
  publicationToJson,
  rowToJson,
  toLogRow,
  type Question,
} from './publication-output.ts'
import type { Output } from '../frame/run.ts'
import { forceFlag, logFlags, timeFlag } from '../frame/shared-flags.ts'
import { printLog } from '../frame/log-output.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const dryRun = { help: 'show what would change for partners, and change nothing' } as const

const fileFlags = {
  dryRun,
  overwrite: { help: 'what the file says replaces what the catalog says, also what others changed since the export' },
} as const

/** Shared by verbs that publish a file. */
const fileVerb = {
  args: { file: {} },
  changes: 'publication',
  json: 'an object: how many plans are unchanged, how each other plan changes, and the publication',
} as const

/** @throws UserError unless it is the number of a publication. */
function parseNumber(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new UserError(`The number of a publication is a whole number, such as 12; it is ${abbreviate(text)}.`)
}

const number = { number: { parse: parseNumber } } as const

/** Shared by verbs that compute a change from the record. */
const recordVerb = {
  args: number,
  changes: 'publication',
  json: 'an object: how each plan changes, and the publication',
} as const

const decisionVerb = { args: number, changes: 'at-once', json: 'the publication as an object' } as const

export const catalog = {
  import: verb({
    ...fileVerb,
    help: 'import plans from a catalog file (- for standard input), all or none; plans that are not in the file stay',
    example: 'catalog import src/catalog/demo.json --dry-run',
    flags: {
      ...fileFlags,
      prune: { help: 'remove the plans that are not in the file' },
    },
    async run(input, run) {
      const { prune: isPruning, overwrite: isOverwriting } = input
      const file = await readCatalog(await readFile(input, run), run.store)
      return publishFile(await prepareImport(run.store, file, { isPruning, isOverwriting }), input, run)
    },
  }),

  update: verb({
    ...fileVerb,
    help: 'change some fields of some plans from a file: rows with identifier and any other columns; an empty cell changes nothing',
    example: 'catalog update performance.xlsx --dry-run',
    flags: fileFlags,
    async run(input, run) {
      const file = readUpdate(await readFile(input, run))
      return publishFile(await prepareUpdate(run.store, file, { isOverwriting: input.overwrite }), input, run)
    },
  }),

  export: verb({
    help: 'write the catalog as a file that import reads back unchanged',
    example: 'catalog export --output plans.xlsx',
    flags: {
      for: {
        value: '<purpose>',
        help: 'figures: only the columns with the figures of a month, for update',
        choices: ['figures'],
      },
      at: { ...timeFlag, help: 'as it was then, such as yesterday, "2026-10-03 12:00" or -2h; now by default' },
      output: {
        value: '<file>',
        help: 'the file to write: .xlsx, .csv or .json; JSON on standard output by default',
      },
      force: forceFlag,
    },
    async run({ for: purpose, at, output, force }, { store }) {
      const format = chooseExportFormat(output, purpose)
      if (output !== undefined && !force) await checkFileIsNew(output)
      const file = await readCatalogFile(store, at)
      const content = await formatCatalogFile(file, format, purpose)
      if (output === undefined) return { text: String(content) }
      await writeOutput(output, content)
      return { text: `Wrote ${countPlans(file.plans.length)} to ${output}.\n` }
    },
  }),

  invalidate: verb({
    help: 'invalidate every cached plan list; every change of the catalog does it by itself',
    example: 'catalog invalidate',
    changes: 'at-once',
    json: 'an object with the new revision of the catalog',
    async run(_, { store, attribution }) {
      const { revision } = await invalidateLists(store, attribution)
      const sentence = `Every cached plan list is invalid. Requests read the database within ${freshness}.`
      return { data: { revision }, text: `${sentence}\n` }
    },
  }),

  check: verb({
    help: 'find implausible figures, old dates, empty lists and the like; exits with 3 when there are errors',
    example: 'catalog check',
    json: 'an array of all findings',
    async run(_, { store }) {
      const findings = await checkCatalog(store)
      const errors = findings.filter(({ level }) => level === 'error').length
      return {
        data: findings,
        text: foldFindings(findings).map(({ level, subject, message: finding }) => ({ level, subject, finding })),
        note: findings.length === 0 ? 'Nothing to look at.' : undefined,
        findings: errors === 0 ? undefined : `${errors === 1 ? '1 error needs' : `${errors} errors need`} a fix.`,
      }
    },
  }),

  log: verb({
    help: 'list the publications: who changed the catalog, when and why, the latest first',
    example: 'catalog log --since 7d',
    flags: {
      plan: { value: '<id>', help: 'only publications that changed this plan, and what they changed' },
      ...logFlags,
      pending: { help: 'only publications that wait for their time or for approval, or that conflicted' },
    },
    json: 'an array of all of them, the latest first',
    async run({ plan, since, until, pending, ...file }, { store }) {
      const states = pending ? openStates : undefined
      const listed = await listPublications(store, { plan, since, until, states })
      const entries = listed.map(({ changes: [change], ...row }) => ({ row, change: change && compareChange(change) }))
      const log = {
        data: entries.map(({ row, change }) => Object.assign(rowToJson(row), change && { change })),
        table: entries.map(({ row, change }) => toLogRow(row, change)),
        sheet: entries.map(({ row, change }) =>
          Object.assign(rowToJson(row), change && { change: describeChange(change) }),
        ),
        notes: describeOwners(listed.flatMap(({ changes: [change], ...row }) => (change ? [{ row, change }] : []))),
        isFiltered: [plan, since, until, states].some((filter) => filter !== undefined),
        none: 'No publication matches.',
      }
      return printLog(log, file)
    },
  }),

  show: verb({
    help: 'show a publication, and what it changes for partners',
    example: 'catalog show 12',
    args: number,
    flags: { plan: { value: '<id>', help: 'show every change of this plan, one field a line' } },
    json: 'an object, with each plan before and after',
    async run({ number: id, plan, json }, { store, warn }) {
      const { row, changes, warnings } = await readPublication(store, id)
      // The approver reads what the author was warned of.
      if (isPending(row) && !json) await printDoubts({ warn }, store, changes, row, warnings)
      const details = Object.entries(rowToJson(row)).filter(([, value]) => value !== null)
      const shown = plan === undefined ? changes : [await findPlanChange(store, id, plan)]
      const fields = plan === undefined ? [] : shown.flatMap((change) => listParts(compareChange(change), true))
      const lines = plan === undefined ? formatDifference(shown).map((line) => `${line}\n`) : []
      return {
        data: { ...rowToJson(row), plans: shown },
        text: [formatFields(Object.fromEntries([...details, ...fields])), ...lines].join(''),
      }
    },
  }),

  undo: verb({
    ...recordVerb,
    help: 'take a publication back, unless later ones changed the same fields',
    example: 'catalog undo 12',
    flags: {
      dryRun,
      plan: { value: '<id>', help: 'take back only the change of this plan; may be repeated', isList: true },
      exceptChanged: { help: 'leave the plans with a field that was changed later, and name them' },
    },
    async run({ number: id, plan: plans, exceptChanged, ...input }, run) {
      const prepared = await prepareUndo(run.store, id, { plans, exceptChanged })
      const effect = `${countPlans(prepared.changes.length)} will be as before publication ${id}.`
      return publishShown(prepared, input, run, { effect, undoneId: id })
    },
  }),

  redo: verb({
    ...recordVerb,
    help: 'make a publication again that conflicted or was cancelled, or that waits: its values replace those of others',
    example: 'catalog redo 12',
    flags: { dryRun, exceptChanged: { help: 'leave the plans with a field that others changed, and name them' } },
    async run({ number: id, exceptChanged, at, ...input }, run) {
      const { dueAt, undoneId, isCancelled, ...prepared } = await prepareRedo(run.store, id, { exceptChanged })
      const { approvedBy } = await findPublication(run.store, id)
      const redone = `Publication ${id}${approvedBy === null ? '' : `, which ${approvedBy} approved,`}`
      const effect = `${redone} will be ${isCancelled ? '' : 'cancelled and '}made again.`
      const question = { effect, redoneId: id, ...(undoneId !== undefined && { undoneId }) }
      const output = await publishShown(prepared, { ...input, at: at ?? dueAt }, run, question)
      const made = output.data.publication
      if (made === null || isCancelled) return output
      const ahead = await endRedone(run.store, id, made, run.attribution)
      if (ahead === undefined) run.report(`${describePlace(run.target)} ${redone} is cancelled.`)
      else run.warn(ahead)
      return output
    },
  }),

  approve: verb({
    ...decisionVerb,
    help: 'let a publication of another operator be published',
    example: 'catalog approve 12',
    asks: true,
    async run({ number: id }, run) {
      const { row, changes, warnings } = await readPublication(run.store, id)
      await checkApprovable(run.store, row, run.attribution.actor)
      const note = row.note === null ? [] : [`Note: ${row.note}`]
      run.report(describeProposal(row), ...note, ...formatDifference(changes))
      const conflict = row.willConflict === null ? [] : [`It can’t be published: ${row.willConflict}.`]
      await printDoubts(run, run.store, changes, row, [...conflict, ...warnings])
      const dueAt = row.dueAt !== null && row.dueAt * 1000 > run.clock.nowMs() ? row.dueAt : undefined
      const published = `be published ${describeTime(dueAt)}`
      const effect = row.willConflict === null ? published : 'end as conflicted, for catalog redo'
      await run.confirm(`Publication ${id} will ${effect}.`)
      return describeDecided(id, await approvePublication(run.store, id, run.attribution), run)
    },
  }),

  cancel: verb({
    ...decisionVerb,
    help: 'end a publication that waits, is scheduled, or conflicted',
    example: 'catalog cancel 12',
    asks: true,
    async run({ number: id }, run) {
      const { row, changes } = await readPublication(run.store, id)
      if (isOpen(row)) {
        run.report(describeProposal(row), ...formatDifference(changes))
        await run.confirm(`Publication ${id} will be cancelled.`)
      }
      return describeDecided(id, await cancelPublication(run.store, id, run.attribution), run)
    },
  }),
}

interface FileInput {
  file: string
  dryRun: boolean
  at: number | undefined
}

async function readFile({ file }: FileInput, { io, progress }: ChangeRun) {
  progress?.show('Reading the file')
  return parseCatalogInput(file, await readInput(file, io.stdin))
}

async function publishFile(prepared: CatalogImport, input: FileInput, run: ChangeRun): Promise<Output> {
  const { changes, unchanged, isMerged, sheet } = prepared
  const added = changes.filter(({ before }) => before === null).length
  const removed = changes.filter(({ after }) => after === null).length
  const changed = changes.length - added - removed
  const losses = changed + removed
  const read = sheet === undefined ? '' : ` They were read from the sheet ${abbreviate(sheet)}.`
  const { data } = await publishShown(prepared, input, run, {
    effect: losses === 0 ? undefined : `${countPlans(losses)} will be changed or removed.`,
    lines: [`Plans: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged.${read}`],
  })
  return { data: { added, changed, removed, unchanged, isMerged, sheet, ...data }, text: '' }
}

/** Shows a change, asks, and publishes it. @param question its lines are those after the difference. */
async function publishShown(
  prepared: PreparedChange,
  input: { at: number | undefined; dryRun: boolean },
  run: ChangeRun,
  question: Question,
) {
  run.progress?.show('Checking the change')
  const { changes } = prepared
  const lines = [...formatDifference(changes), ...(question.lines ?? [])]
  const request = createRequest(run, input, { ...prepared, ...question, lines })
  const publication = await publishChange(run.store, prepared, request)
  if (changes.length === 0) reportUnchanged(prepared, lines, run)
  else if (input.dryRun) run.report(describeDryRun(input, run))
  else printPublication(run, publication)
  return { data: { plans: changes.map(compareChange), publication: publicationToJson(publication) }, text: '' }
}

/** A change of no plan is not reviewed, so nothing was shown of it. */
function reportUnchanged({ notes }: PreparedChange, lines: readonly string[], run: ChangeRun): void {
  run.warn(...notes.map((note) => `Note: ${note}`))
  run.report(...lines, 'Nothing was changed.')
}

function describeDryRun({ at }: { at: number | undefined }, { store }: ChangeRun): string {
  return `A dry run: nothing was changed. It would be published ${describeTime(at)}${describeApproval(store)}.`
}

function describeDecided(id: number, row: PublicationRow, { target }: ChangeRun): Output {
  const when = row.state === 'scheduled' ? ` for ${formatLocalTime(row.dueAt ?? 0)}` : ''
  const merged = row.id === id ? '' : ` as publication ${row.id}, merged with later changes`
  const wayBack = describeWayBack(target, row)
  return { data: rowToJson(row), text: `Publication ${id} is ${row.state}${merged}${when}.${wayBack}\n` }
}

/** Who made a publication, how, and for when. */
function describeProposal({ id, actor, command, dueAt }: PublicationRow): string {
  const time = dueAt === null ? '' : `, for ${formatLocalTime(dueAt)}`
  return `Publication ${id} by ${actor}${time}: ${command}`
}
