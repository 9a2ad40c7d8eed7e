// Shows a change of the catalog, asks, and publishes the change: for every verb that changes the catalog.
import { compareChange } from '../../core/differences/catalog-difference.ts'
import { makeProposal, type PreparedChange, type Proposal } from '../../core/publications/proposal.ts'
import {
  publishProposal,
  readNeedsApproval,
  type PlanChange,
  type Publication,
} from '../../core/publications/publications.ts'
import { formatOptionalTime } from '../../shared/iso-time.ts'
import { nothingChanged, UserError } from '../../shared/user-error.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import type { ChangeRun } from '../frame/verb.ts'
import { describePublication, describeWhen, formatDifference } from './publication-output.ts'

/** Printed before a change is shown again, merged with the changes of others. An approver may see it after a change of other plans, too. */
export const overtakenNotice = 'Somebody else changed the catalog at the same time. The change to publish is now:'

export const changeJson = 'an object: how each plan changes, and the publication, null if none was made'

export const previewFlags = {
  dryRun: { help: 'show what would change for partners, and change nothing' },
  review: {
    value: '<file>',
    help: 'write the change into a spreadsheet, .xlsx: a row for each field, the doubtful ones first and in red',
    parse: (file: string): string => {
      if (/\.xlsx$/i.test(file)) return file
      throw new UserError('--review writes a spreadsheet: let its name end with .xlsx.')
    },
  },
} as const

interface Options {
  dryRun?: boolean
  /** The file name of a spreadsheet, into which the change is written. */
  review?: string | undefined
  /**
   * Returns an effect that the operator must confirm even if there is no warning, such as `3 plans will be removed.` Without such an
   * effect, returns undefined: then the operator is asked only if there is a warning.
   */
  describeEffectToConfirm?: (changes: readonly PlanChange[]) => string | undefined
  listSummaryLines?: (changes: readonly PlanChange[]) => string[]
}

/**
 * Shows a change with its warnings, asks, and publishes the change. If others changed the same plans before the answer, shows the change
 * merged with the later changes, and asks again. In a dry run, or if no plan changes, publishes nothing.
 * @throws UserError when the review file exists; also as `makeProposal`, `showAndConfirm` and `publishProposal` do.
 */
export async function publishChange(preparedChange: PreparedChange, run: ChangeRun, options: Options = {}) {
  if (options.review !== undefined) await checkFileIsNew(options.review)
  let currentChange = preparedChange
  for (;;) {
    run.progress?.show('Checking the change')
    const proposal = await makeProposal(run.store, currentChange)
    await showAndConfirm(proposal, run, options)
    if (proposal.changes.length === 0 || options.dryRun) return makeOutput(proposal.changes)
    const attempt = await publishProposal(run.store, proposal, run.attribution)
    if (attempt.kind === 'made') {
      run.report(describePublication(run.target, attempt.publication))
      return makeOutput(proposal.changes, attempt.publication)
    }
    if (attempt.change.changes.length > 0) run.warn(overtakenNotice)
    currentChange = { ...preparedChange, ...attempt.change }
  }
}

/** Makes the output for --json, and `changes` for the verb. The text is empty, because `showAndConfirm` has printed the change. */
function makeOutput(changes: readonly PlanChange[], publication?: Publication) {
  const data = {
    plans: changes.map(compareChange),
    publication: publication ? { ...publication, dueAt: formatOptionalTime(publication.dueAt) } : null,
  }
  return { data, changes, text: '' }
}

/** Shows a change, and writes its review. Asks only if there is a warning or an effect to confirm, and never in a dry run. @throws UserError when the answer is not yes, there is no terminal, or the review can't be written. */
async function showAndConfirm(proposal: Proposal, run: ChangeRun, options: Options): Promise<void> {
  const { changes, notes, warnings, dueAt } = proposal
  const { dryRun: isDryRun, review, describeEffectToConfirm, listSummaryLines } = options
  if (changes.length > 0) await writeReview(review, proposal, run)
  const effect = describeEffectToConfirm?.(changes)
  const hint = warnings.length > 0 ? 'There are warnings above.' : undefined
  const willAsk = changes.length > 0 && !isDryRun && Boolean(effect || hint)
  const report = willAsk ? run.reportBeforeQuestion : run.report
  report(...formatDifference(changes), ...(listSummaryLines?.(changes) ?? []))
  run.warn(...notes.map((note) => `Note: ${note}`), ...warnings.map((warning) => `Warning: ${warning}`))
  if (changes.length === 0) return run.report(nothingChanged)
  const when = describeWhen(dueAt, { needsApproval: readNeedsApproval(run.store) })
  if (isDryRun) return run.report(`A dry run: nothing was changed. The change would be published ${when}.`)
  if (willAsk) await run.confirm([effect, hint, `The change will be published ${when}.`].filter(Boolean).join(' '))
}

/** Writes a change with its doubts into a spreadsheet. Does nothing if `file` is undefined. @throws UserError when the file can't be written. */
export async function writeReview(
  file: string | undefined,
  { changes, findings, lists }: Pick<Proposal, 'changes' | 'findings' | 'lists'>,
  { report }: Pick<ChangeRun, 'report'>,
): Promise<void> {
  if (file === undefined) return
  const { formatReview } = await import('../../core/differences/change-sheets.ts')
  await writeOutput(file, await formatReview({ changes, doubts: findings, lists }))
  report(`Wrote the change to ${file}.`)
}
