// The commands `ops catalog …`: read and write catalog files, and show, undo, redo, approve and cancel publications.
import { abbreviate } from '../../../abbreviate.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { chooseExportFormat, formatCatalogFile, readCatalog, readUpdate } from '../../core/catalog/catalog-formats.ts'
import { prepareImport, prepareUpdate, type CatalogImport } from '../../core/catalog/catalog-import.ts'
import { readCatalogAt } from '../../core/catalog/catalog-plans.ts'
import type { Doubts } from '../../core/plan-rules/plausibility.ts'
import { requirePublicationWithChanges, type ForecastRow } from '../../core/publications/publication-log.ts'
import { cancelRedone, prepareRedo, prepareUndo } from '../../core/publications/publication-undo.ts'
import { listDoubts } from '../../core/publications/proposal.ts'
import {
  approvePublication,
  checkApprovable,
  cancelPublication,
  formatPlanCount,
  isOpen,
  isPending,
  type PlanChange,
  type PublicationRow,
} from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { readInput } from '../../store/read-input.ts'
import type { Store } from '../../store/store.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import { formatTarget } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import { describePublication, describeWhen, formatDifference, publicationRowToJson } from './publication-output.ts'
import { changeJson, overtakenNotice, previewFlags, publishChange, writeReview } from './publish-change.ts'
import { dueTimeFlag, forceFlag, timeFlag } from '../frame/shared-flags.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const fileFlags = {
  ...previewFlags,
  overwrite: { help: 'let the file replace changes that others made after its export' },
} as const

/** Shared by import and update, which publish a file. */
const fileVerb = {
  args: { file: {} },
  changes: 'publication',
  json: 'an object: how many plans are unchanged, how each other plan changes, and the publication, null if none was made',
} as const

/** @throws UserError for any other text than the number of a publication, such as 12. */
function parsePublicationId(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new UserError(`The number of a publication is a whole number, such as 12; it is ${abbreviate(text)}.`)
}

const args = { number: { parse: parsePublicationId } } as const

/** Shared by undo and redo, which make a new publication from an earlier one. */
const repeatVerb = { args, changes: 'publication', json: changeJson } as const

/** Shared by approve and cancel. */
const decisionVerb = { args, changes: 'at-once', json: 'the publication as an object' } as const

export const catalog = {
  import: verb({
    ...fileVerb,
    help: 'add and change plans from a catalog file (- for standard input), all or none; plans that are not in the file stay',
    example: 'catalog import src/catalog/demo.json --dry-run',
    flags: {
      ...fileFlags,
      prune: {
        help: 'also remove the plans that are not in the file; if the file has the number of its export, plans that were added later stay, unless --overwrite is given',
      },
    },
    async run(input, run) {
      const { prune: isPruning, overwrite: isOverwriting } = input
      const file = await readCatalog(input.file, await readFileBytes(input.file, run))
      return publishFile(await prepareImport(run.store, file, { isPruning, isOverwriting }), input, run)
    },
  }),

  update: verb({
    ...fileVerb,
    help: 'change some fields of some plans from a file with the column identifier and any other columns; an empty cell changes nothing',
    example: 'catalog update performance.xlsx --dry-run',
    flags: fileFlags,
    async run(input, run) {
      const file = await readUpdate(input.file, await readFileBytes(input.file, run))
      return publishFile(await prepareUpdate(run.store, file, { isOverwriting: input.overwrite }), input, run)
    },
  }),

  export: verb({
    help: 'write the catalog as a file that import reads back unchanged',
    example: 'catalog export --output plans.xlsx',
    flags: {
      for: {
        value: '<purpose>',
        help: 'figures: write only the columns with the figures of a month, for catalog update',
        choices: ['figures'],
      },
      at: {
        ...timeFlag,
        help: 'the catalog of a past time, such as yesterday, "2026-10-03 12:00" or -2h; now by default',
      },
      output: {
        value: '<file>',
        help: 'the file to write: .xlsx, .csv or .json; JSON on standard output by default',
      },
      force: forceFlag,
    },
    async run({ for: purpose, at, output, force }, { store }) {
      const format = chooseExportFormat(output, purpose)
      if (output !== undefined) await checkFileIsNew(output, force)
      const file = await readCatalogAt(store, at)
      const content = await formatCatalogFile(file, format, purpose)
      if (output === undefined) return { text: String(content) }
      await writeOutput(output, content)
      return { text: `Wrote ${formatPlanCount(file.plans.length)} to ${output}.\n` }
    },
  }),

  show: verb({
    help: 'show a publication, and what it changes for partners',
    example: 'catalog show 12',
    args,
    flags: { review: previewFlags.review },
    json: 'the publication as an object, with each plan before and after',
    async run({ number: id, json, review }, { store, warn, report }) {
      if (review !== undefined) await checkFileIsNew(review)
      const { row, changes } = await requirePublicationWithChanges(store, id)
      const doubts = await readDoubts(store, row, changes)
      await writeReview(review, { changes, ...doubts }, { report })
      // The approver of a pending publication also reads the doubts of today.
      if (!json) warn(...formatWarnings(isPending(row) ? doubts.warnings : row.warnings))
      const { warnings: _warnings, ...fields } = publicationRowToJson(row)
      const details = Object.entries(fields).filter(([, value]) => value !== null)
      const lines = formatDifference(changes).map((line) => `${line}\n`)
      return {
        data: { ...publicationRowToJson(row), plans: changes },
        text: [formatFields(Object.fromEntries(details)), ...lines].join(''),
      }
    },
  }),

  undo: verb({
    ...repeatVerb,
    help: 'take a publication back; refused while a later publication of the same fields is in effect',
    example: 'catalog undo 12',
    flags: {
      ...previewFlags,
      plan: { value: '<id>', help: 'take back only the change of this plan; may be repeated', isList: true },
      exceptChanged: { help: 'leave out the plans in which the same fields were changed later, and name them' },
    },
    async run({ number: id, plan: plans, exceptChanged, at, dryRun, review }, run) {
      const undoChange = await prepareUndo(run.store, id, { plans, exceptChanged })
      const describeEffectToConfirm = (changes: readonly PlanChange[]) =>
        `Publication ${id} will be taken back in ${formatPlanCount(changes.length)}.`
      return publishChange({ ...undoChange, dueAt: at }, run, { describeEffectToConfirm, dryRun, review })
    },
  }),

  redo: verb({
    ...repeatVerb,
    help: 'make an unpublished publication again, overwriting later changes',
    example: 'catalog redo 12',
    flags: {
      ...previewFlags,
      exceptChanged: { help: 'leave out the plans in which the same fields were changed later, and name them' },
      at: {
        ...dueTimeFlag,
        help: 'when to publish; by default at the time of the publication if it is in the future, otherwise now',
      },
    },
    async run({ number: id, exceptChanged, at, dryRun, review }, run) {
      const { oldPublication, ...redoChange } = await prepareRedo(run.store, id, { exceptChanged, at })
      const isCancelled = oldPublication.state === 'cancelled'
      const { actor, approvedBy } = oldPublication
      const approval = approvedBy === null ? '' : `, which ${approvedBy} approved,`
      const subject = `Publication ${id} by ${actor}${approval}`
      const effect = `${subject} will be ${isCancelled ? '' : 'cancelled and '}made again.`
      const output = await publishChange(redoChange, run, { describeEffectToConfirm: () => effect, dryRun, review })
      const newPublication = output.data.publication
      if (newPublication === null || isCancelled) return output
      const cancelProblem = await cancelRedone(run.store, id, newPublication, run.attribution)
      if (cancelProblem === undefined) run.report(`${formatTarget(run.target)} ${subject} is cancelled.`)
      else run.warn(cancelProblem)
      return output
    },
  }),

  approve: verb({
    ...decisionVerb,
    help: 'approve a publication of another operator, so that it is published',
    example: 'catalog approve 12',
    flags: { review: previewFlags.review },
    asks: true,
    async run({ number: id, review }, run) {
      if (review !== undefined) await checkFileIsNew(review)
      // If the catalog changes before the operator answers, shows the publication again, and asks again.
      for (;;) {
        const { row, changes, revision, redoneActor } = await requirePublicationWithChanges(run.store, id)
        checkApprovable(run.store, row, run.attribution.actor)
        const note = row.note === null ? [] : [`Note: ${row.note}`]
        const redoneLines =
          redoneActor === undefined ? [] : [`Publication ${id} redoes publication ${row.redoneId} by ${redoneActor}.`]
        run.reportBeforeQuestion(describeProposal(row), ...note, ...redoneLines, ...formatDifference(changes))
        const doubts = await readDoubts(run.store, row, changes)
        await writeReview(review, { changes, ...doubts }, run)
        run.warn(...formatWarnings(doubts.warnings))
        const futureDueAt = row.dueAt !== null && row.dueAt * 1000 > run.clock.nowMs() ? row.dueAt : undefined
        const ifPublished = `be published ${describeWhen(futureDueAt, { needsApproval: false })}`
        const effect = row.willConflict === null ? ifPublished : 'end as conflicted; catalog redo can make it again'
        await run.confirm(`Publication ${id} will ${effect}.`)
        const approvedRow = await approvePublication(run.store, id, run.attribution, revision)
        if (approvedRow !== undefined) return makeDecisionOutput(row, approvedRow, run)
        run.warn(overtakenNotice)
      }
    },
  }),

  cancel: verb({
    ...decisionVerb,
    help: 'cancel a publication that waits for approval, is scheduled, or conflicted',
    example: 'catalog cancel 12',
    asks: true,
    async run({ number: id }, run) {
      const { row, changes } = await requirePublicationWithChanges(run.store, id)
      // Any other publication is refused below, without a question.
      if (isOpen(row)) {
        run.reportBeforeQuestion(describeProposal(row), ...formatDifference(changes))
        await run.confirm(`Publication ${id} will be cancelled.`)
      }
      return makeDecisionOutput(row, await cancelPublication(run.store, id, run.attribution), run)
    },
  }),
}

interface PublishFlags {
  review: string | undefined
  dryRun: boolean
  at: number | undefined
}

async function readFileBytes(file: string, { io, progress }: ChangeRun) {
  progress?.show('Reading the file')
  return readInput(file, io.stdin)
}

function countKinds(changes: readonly PlanChange[]) {
  const added = changes.filter(({ before }) => before === null).length
  const removed = changes.filter(({ after }) => after === null).length
  return { added, changed: changes.length - added - removed, removed }
}

/** Publishes the change of a file. Asks if there are warnings, or plans that are changed or removed. Prints how many plans are added, changed and removed. */
async function publishFile(catalogImport: CatalogImport, { dryRun, at, review }: PublishFlags, run: ChangeRun) {
  const { unchanged, isMerged, sheet } = catalogImport
  const sheetSentence = sheet === undefined ? '' : ` Only the sheet ${abbreviate(sheet)} was read.`
  const output = await publishChange({ ...catalogImport, dueAt: at }, run, {
    dryRun,
    review,
    describeEffectToConfirm: (changes) => {
      const { changed, removed } = countKinds(changes)
      return changed + removed === 0 ? undefined : `${formatPlanCount(changed + removed)} will be changed or removed.`
    },
    listSummaryLines: (changes) => {
      const { added, changed, removed } = countKinds(changes)
      return [`Plans: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged.${sheetSentence}`]
    },
  })
  return { ...output, data: { ...countKinds(output.changes), unchanged, isMerged, sheet, ...output.data } }
}

/** Makes the output for a publication that was approved or cancelled. @param before the publication before this decision. */
async function makeDecisionOutput(before: PublicationRow, after: PublicationRow, { store, target }: ChangeRun) {
  // A merge with later changes gives a publication a later base.
  const isMerged = after.baseRevision !== before.baseRevision
  const mergedChanges = isMerged ? (await requirePublicationWithChanges(store, after.id)).changes : undefined
  const changedNothing = mergedChanges?.every((change) => isSameJson(change.before, change.after))
  const text = changedNothing
    ? `${formatTarget(target)} Publication ${after.id} is published, and changed nothing, because others had made the same change.`
    : describePublication(target, after, isMerged)
  return { data: publicationRowToJson(after), text: `${text}\n` }
}

/** @returns today's doubts about a publication. The warnings begin with the publication's conflict, and with those that its author saw. @throws UserError when a list would be too large. */
async function readDoubts(store: Store, row: ForecastRow, changes: readonly PlanChange[]): Promise<Doubts> {
  const conflict = row.willConflict === null ? [] : [`Publication ${row.id} can’t be published: ${row.willConflict}.`]
  const doubts = await listDoubts(store, row, changes)
  return { ...doubts, warnings: [...new Set([...conflict, ...row.warnings, ...doubts.warnings])] }
}

const formatWarnings = (warnings: readonly string[]) => warnings.map((warning) => `Warning: ${warning}`)

/** `Publication 12 by amina, for 2026-12-01 09:00 in Africa/Nairobi (…): catalog redo 10` */
function describeProposal({ id, actor, command, dueAt }: PublicationRow): string {
  const time = dueAt === null ? '' : `, for ${formatLocalTime(dueAt)}`
  return `Publication ${id} by ${actor}${time}: ${command}`
}
