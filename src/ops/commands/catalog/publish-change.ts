// Shows a change of the catalog, asks, and publishes it: for every verb that makes one.
import { compareChange } from '../../core/differences/catalog-difference.ts'
import { propose, type PreparedChange, type Proposal } from '../../core/publications/proposal.ts'
import {
  publishProposal,
  readNeedsApproval,
  type PlanChange,
  type Publication,
} from '../../core/publications/publications.ts'
import { nothingChanged, UserError } from '../../shared/user-error.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import type { ChangeRun } from '../frame/verb.ts'
import { describePublication, describeWhen, formatDifference, publicationToJson } from './publication-output.ts'

/** Printed before a change is shown again. */
export const overtaken = 'Somebody else changed the same plans at the same time. The change is now:'

export const changeJson = 'an object: how each plan changes, and the publication'

/** The flags of a change that can be looked at before it is made. */
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
  /** The spreadsheet to write the change into. */
  review?: string | undefined
  /** @returns a sentence for the question, which is then asked even without a warning, such as `3 plans will be removed.` */
  nameEffect?: (changes: readonly PlanChange[]) => string | undefined
  /** @returns lines to print after the difference. */
  describeRest?: (changes: readonly PlanChange[]) => string[]
}

/**
 * Shows a change with its warnings, asks, and publishes it. When others changed the same plans in between, it shows the change again,
 * merged with theirs, and asks again.
 * @throws UserError, also for the answer "no".
 */
export async function publishChange(prepared: PreparedChange, run: ChangeRun, options: Options = {}) {
  if (options.review !== undefined) await checkFileIsNew(options.review)
  let current = prepared
  for (;;) {
    run.progress?.show('Checking the change')
    const proposal = await propose(run.store, current)
    await showAndConfirm(proposal, run, options)
    if (proposal.changes.length === 0 || options.dryRun) return formatForJson(proposal.changes)
    const result = await publishProposal(run.store, proposal, run.attribution)
    if (result.kind === 'made') {
      run.report(describePublication(run.target, result.publication))
      return formatForJson(proposal.changes, result.publication)
    }
    if (result.change.changes.length > 0) run.warn(overtaken)
    current = { ...prepared, ...result.change }
  }
}

/** Makes the result for --json. The text is empty, because `showAndConfirm` has printed the change. */
function formatForJson(changes: readonly PlanChange[], publication?: Publication) {
  const data = { plans: changes.map(compareChange), publication: publicationToJson(publication) }
  return { data, changes, text: '' }
}

/** Prints a change with its warnings, and asks if it has a warning or `nameEffect` returned a sentence. */
async function showAndConfirm(proposal: Proposal, run: ChangeRun, options: Options): Promise<void> {
  const { changes, notes, warnings, dueAt } = proposal
  const { dryRun: isDryRun, review, nameEffect, describeRest } = options
  if (changes.length > 0) await writeReview(review, proposal, run)
  const effect = nameEffect?.(changes)
  const doubt = warnings.length > 0 && 'There are warnings above.'
  const isAsked = changes.length > 0 && !isDryRun && Boolean(effect || doubt)
  const report = isAsked ? run.reportAsked : run.report
  report(...formatDifference(changes), ...(describeRest?.(changes) ?? []))
  run.warn(...notes.map((note) => `Note: ${note}`), ...warnings.map((warning) => `Warning: ${warning}`))
  if (changes.length === 0) return run.report(nothingChanged)
  const published = `be published ${describeWhen(dueAt, readNeedsApproval(run.store))}.`
  if (isDryRun) return run.report(`A dry run: nothing was changed. The change would ${published}`)
  if (isAsked) await run.confirm([effect, doubt, `The change will ${published}`].filter(Boolean).join(' '))
}

/** Writes a change with its doubts into a spreadsheet. Without a file, it does nothing. */
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
