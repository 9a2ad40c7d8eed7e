// ops catalog …
import { abbreviate } from '../../../abbreviate.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
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
import type { Doubts } from '../../core/plan-rules/plausibility.ts'
import { findPlanChange, readPublication, type ForecastRow } from '../../core/publications/publication-log.ts'
import { endRedone, prepareRedo, prepareUndo } from '../../core/publications/publication-undo.ts'
import { listDoubts } from '../../core/publications/proposal.ts'
import {
  approvePublication,
  checkApprovable,
  cancelPublication,
  countPlans,
  isOpen,
  isPending,
  type PlanChange,
  type PublicationRow,
} from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { readInput } from '../../store/read-input.ts'
import type { Store } from '../../store/store.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import { describePlace } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import { describeTime, describePublication, formatDifference, listParts, rowToJson } from './publication-output.ts'
import { changeJson, overtaken, previewFlags, publishChange, writeReview } from './publish-change.ts'
import { dueTimeFlag, forceFlag, timeFlag } from '../frame/shared-flags.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const fileFlags = {
  ...previewFlags,
  overwrite: { help: 'the values of the file also replace later changes by others' },
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
const recordVerb = { args: number, changes: 'publication', json: changeJson } as const

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
      const file = readCatalog(await readFile(input, run))
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
      if (output !== undefined) await checkFileIsNew(output, force)
      const file = await readCatalogFile(store, at)
      const content = await formatCatalogFile(file, format, purpose)
      if (output === undefined) return { text: String(content) }
      await writeOutput(output, content)
      return { text: `Wrote ${countPlans(file.plans.length)} to ${output}.\n` }
    },
  }),

  show: verb({
    help: 'show a publication, and what it changes for partners',
    example: 'catalog show 12',
    args: number,
    flags: {
      plan: { value: '<id>', help: 'show every change of this plan, one field a line' },
      review: previewFlags.review,
    },
    json: 'an object, with each plan before and after',
    async run({ number: id, plan, json, review }, { store, warn, report }) {
      if (review !== undefined) await checkFileIsNew(review)
      const { row, changes } = await readPublication(store, id)
      // The approver reads the warnings that the author read.
      const doubts = await listWarnings(store, row, changes)
      await writeReview(review, { changes, ...doubts }, { report })
      if (!json) warn(...formatWarnings(isPending(row) ? doubts.warnings : row.warnings))
      const { warnings: _warnings, ...listed } = rowToJson(row)
      const details = Object.entries(listed).filter(([, value]) => value !== null)
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
      ...previewFlags,
      plan: { value: '<id>', help: 'take back only the change of this plan; may be repeated', isList: true },
      exceptChanged: { help: 'leave out plans with a later change of the same field, and name them' },
    },
    async run({ number: id, plan: plans, exceptChanged, at, dryRun, review }, run) {
      const prepared = await prepareUndo(run.store, id, { plans, exceptChanged })
      const nameEffect = (changes: readonly PlanChange[]) =>
        `${countPlans(changes.length)} will be as before publication ${id}.`
      return publishChange({ ...prepared, dueAt: at }, run, { nameEffect, dryRun, review })
    },
  }),

  redo: verb({
    ...recordVerb,
    help: 'republish a conflicted, cancelled or waiting publication, overwriting later changes',
    example: 'catalog redo 12',
    flags: {
      ...previewFlags,
      exceptChanged: { help: 'leave out plans with a later change of the same field, and name them' },
      at: { ...dueTimeFlag, help: 'publish it then; by default at its own time, or now if that has passed' },
    },
    async run({ number: id, exceptChanged, at, dryRun, review }, run) {
      const { redone, ...prepared } = await prepareRedo(run.store, id, { exceptChanged, at })
      const isCancelled = redone.state === 'cancelled'
      const approved = redone.approvedBy === null ? '' : `, which ${redone.approvedBy} approved,`
      const name = `Publication ${id} by ${redone.actor}${approved}`
      const nameEffect = () => `${name} will be ${isCancelled ? '' : 'cancelled and '}made again.`
      const output = await publishChange(prepared, run, { nameEffect, dryRun, review })
      const made = output.data.publication
      if (made === null || isCancelled) return output
      const ahead = await endRedone(run.store, id, made, run.attribution)
      if (ahead === undefined) run.report(`${describePlace(run.target)} ${name} is cancelled.`)
      else run.warn(ahead)
      return output
    },
  }),

  approve: verb({
    ...decisionVerb,
    help: 'let a publication of another operator be published',
    example: 'catalog approve 12',
    flags: { review: previewFlags.review },
    asks: true,
    async run({ number: id, review }, run) {
      if (review !== undefined) await checkFileIsNew(review)
      for (;;) {
        const { row, changes, revision, redoneActor } = await readPublication(run.store, id)
        await checkApprovable(run.store, row, run.attribution.actor)
        const note = row.note === null ? [] : [`Note: ${row.note}`]
        const redone =
          redoneActor === undefined ? [] : [`It republishes publication ${row.redoneId} by ${redoneActor}.`]
        run.reportAsked(describeProposal(row), ...note, ...redone, ...formatDifference(changes))
        const doubts = await listWarnings(run.store, row, changes)
        await writeReview(review, { changes, ...doubts }, run)
        run.warn(...formatWarnings(doubts.warnings))
        const dueAt = row.dueAt !== null && row.dueAt * 1000 > run.clock.nowMs() ? row.dueAt : undefined
        const published = `be published ${describeTime(dueAt)}`
        const effect = row.willConflict === null ? published : 'end as conflicted; catalog redo can make it again'
        await run.confirm(`Publication ${id} will ${effect}.`)
        const approved = await approvePublication(run.store, id, run.attribution, revision)
        if (approved !== undefined) return describeDecided(row, approved, run)
        run.warn(overtaken)
      }
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
        run.reportAsked(describeProposal(row), ...formatDifference(changes))
        await run.confirm(`Publication ${id} will be cancelled.`)
      }
      return describeDecided(row, await cancelPublication(run.store, id, run.attribution), run)
    },
  }),
}

interface FileInput {
  file: string
  review: string | undefined
  dryRun: boolean
  at: number | undefined
}

async function readFile({ file }: FileInput, { io, progress }: ChangeRun) {
  progress?.show('Reading the file')
  return parseCatalogInput(file, await readInput(file, io.stdin))
}

function countKinds(changes: readonly PlanChange[]) {
  const added = changes.filter(({ before }) => before === null).length
  const removed = changes.filter(({ after }) => after === null).length
  return { added, changed: changes.length - added - removed, removed }
}

async function publishFile(prepared: CatalogImport, { dryRun, at, review }: FileInput, run: ChangeRun) {
  const { unchanged, isMerged, sheet } = prepared
  const read = sheet === undefined ? '' : ` They were read from the sheet ${abbreviate(sheet)}.`
  const published = await publishChange({ ...prepared, dueAt: at }, run, {
    dryRun,
    review,
    nameEffect: (changes) => {
      const { changed, removed } = countKinds(changes)
      return changed + removed === 0 ? undefined : `${countPlans(changed + removed)} will be changed or removed.`
    },
    describeRest: (changes) => {
      const { added, changed, removed } = countKinds(changes)
      return [`Plans: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged.${read}`]
    },
  })
  const counts = countKinds(published.changes)
  return { data: { ...counts, unchanged, isMerged, sheet, ...published.data }, text: '' }
}

/** @param pending the publication before. */
async function describeDecided(pending: PublicationRow, row: PublicationRow, { store, target }: ChangeRun) {
  const merged = row.baseRevision === pending.baseRevision ? '' : await describeMerge(store, row.id)
  return { data: rowToJson(row), text: `${describePublication(target, row, merged)}\n` }
}

async function describeMerge(store: Store, id: number): Promise<string> {
  const { changes } = await readPublication(store, id)
  const isSame = changes.every(({ before, after }) => isSameJson(before, after))
  return isSame ? ', and changed nothing: others had made the same change' : ', merged with later changes'
}

/** Lists the warnings that the author of a pending publication confirmed, and the current ones. */
async function listWarnings(store: Store, row: ForecastRow, changes: readonly PlanChange[]): Promise<Doubts> {
  const conflict = row.willConflict === null ? [] : [`Publication ${row.id} can’t be published: ${row.willConflict}.`]
  const doubts = await listDoubts(store, row, changes)
  return { ...doubts, warnings: [...new Set([...conflict, ...row.warnings, ...doubts.warnings])] }
}

const formatWarnings = (warnings: readonly string[]) => warnings.map((warning) => `Warning: ${warning}`)

/** Who made a publication, how, and for when. */
function describeProposal({ id, actor, command, dueAt }: PublicationRow): string {
  const time = dueAt === null ? '' : `, for ${formatLocalTime(dueAt)}`
  return `Publication ${id} by ${actor}${time}: ${command}`
}
