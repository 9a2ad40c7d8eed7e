// Shows a change of the catalog, asks, and publishes it: for every verb that makes one.
import { propose, type PreparedChange, type Proposal } from '../../core/publications/proposal.ts'
import { publishProposal, type PlanChange, type Publication } from '../../core/publications/publications.ts'
import { UserError } from '../../shared/user-error.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import type { ChangeRun } from '../frame/verb.ts'
import { describeApproval, describeTime, formatDifference } from './publication-output.ts'

export const overtaken = 'Somebody else changed the same plans at the same time. The change is now:'

interface Review extends ReviewFile {
  /** Shows the change in the words of the verb. Without it, the difference is shown before a question. */
  describe?: (changes: readonly PlanChange[]) => readonly string[]
  /** Named in the question even without a warning, such as plans that are removed. */
  nameEffect?: (changes: readonly PlanChange[]) => string | undefined
}

interface ReviewFile {
  /** The spreadsheet to write the change into. */
  review?: string | undefined
}

/** @throws UserError unless it is the name of a new .xlsx file. */
export async function checkReview({ review }: ReviewFile): Promise<void> {
  if (review === undefined) return
  if (!/\.xlsx$/i.test(review)) throw new UserError('--review writes a spreadsheet: let its name end with .xlsx.')
  await checkFileIsNew(review)
}

/** Writes a change into a spreadsheet, before anybody is asked. */
export async function writeReview(
  { review }: ReviewFile,
  { changes, findings, lists }: Pick<Proposal, 'changes' | 'findings' | 'lists'>,
  { report }: Pick<ChangeRun, 'report'>,
): Promise<void> {
  if (review === undefined) return
  const { formatReview } = await import('../../core/differences/change-sheets.ts')
  await writeOutput(review, await formatReview({ changes, doubts: findings, lists }))
  report(`Wrote the change to ${review}.`)
}

export const reviewFlag = {
  value: '<file>',
  help: 'write the change into a spreadsheet, .xlsx: a row for each field, the doubtful ones first and in red',
} as const

export interface Shown {
  proposal: Proposal
  /** undefined when there was nothing to change, or for a dry run. */
  publication: Publication | undefined
}

/**
 * Shows a change with its warnings, asks, and publishes it. When others changed the same plans in between, it shows the change again,
 * merged with that, and asks again.
 * @throws UserError for the answer "no", too.
 */
export async function publishShown(
  prepared: PreparedChange,
  run: ChangeRun,
  review: Review = {},
  isDryRun = false,
): Promise<Shown> {
  run.progress?.show('Checking the change')
  const proposal = await propose(run.store, prepared)
  if (proposal.changes.length === 0) return { proposal, publication: undefined }
  await writeReview(review, proposal, run)
  await show(proposal, run, review, isDryRun)
  if (isDryRun) return { proposal, publication: undefined }
  const result = await publishProposal(run.store, proposal, run.attribution)
  if (result.kind === 'made') return { proposal, publication: result.publication }
  const { change } = result
  if (change.changes.length > 0) {
    run.warn(overtaken)
    if (!review.describe) run.warn(...formatDifference(change.changes))
  }
  return publishShown({ ...prepared, ...change }, run, review)
}

async function show(
  { changes, notes, warnings, dueAt }: Proposal,
  run: ChangeRun,
  { describe, nameEffect }: Review,
  isDryRun: boolean,
): Promise<void> {
  run.report(...(describe?.(changes) ?? []))
  run.warn(...notes.map((note) => `Note: ${note}`), ...warnings.map((warning) => `Warning: ${warning}`))
  const effect = nameEffect?.(changes)
  const isDoubtful = warnings.length > 0
  if (isDryRun || (effect === undefined && !isDoubtful)) return
  if (run.target.remote && !describe && run.io.stdin.isTTY) run.warn(...formatDifference(changes))
  const doubt = isDoubtful && 'Are the warnings above intended?'
  const time = `It will be published ${describeTime(dueAt)}${describeApproval(run.store)}.`
  await run.confirm([effect, doubt, time].filter(Boolean).join(' '))
}
