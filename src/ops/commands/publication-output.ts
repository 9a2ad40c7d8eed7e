// What commands that change the catalog share: their flags, and what they say about the publication.
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { findDoubts } from '../core/plausibility.ts'
import type { PlanChange, Publication, PublicationRequest } from '../core/publications.ts'
import { parseDueTime } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { confirm } from '../terminal/confirm.ts'
import { readAttribution, type ChangeOptions, type CommandContext } from './command-context.ts'

export interface PublicationOptions extends ChangeOptions {
  at?: string
  accept?: boolean
}

export async function readPublicationRequest(
  context: CommandContext,
  options: PublicationOptions,
): Promise<PublicationRequest> {
  const dueAt = options.at === undefined ? undefined : parseDueTime(options.at)
  return {
    attribution: await readAttribution(context, options),
    dueAt,
    review: (store, changes) => reviewChanges(context, options, store, changes),
  }
}

/** Warns of a change that is hardly ever meant. Asks before it reaches a deployed environment. */
export async function reviewChanges(
  context: Pick<CommandContext, 'io'>,
  { accept, dryRun, ...target }: PublicationOptions & { dryRun?: boolean },
  store: Store,
  changes: readonly PlanChange[],
): Promise<void> {
  const dueAt = target.at === undefined ? null : parseDueTime(target.at)
  const isDoubtful = await printDoubts(context, store, changes, dueAt)
  const yes = !isDoubtful || accept === true || dryRun === true
  await confirm(context.io, { ...target, yes }, 'Is all of this intended?', '--accept')
}

/** @param dueAt Unix seconds: when the change is published; null for now. @returns whether there is a warning. */
export async function printDoubts(
  { io }: Pick<CommandContext, 'io'>,
  store: Store,
  changes: readonly PlanChange[],
  dueAt: number | null,
): Promise<boolean> {
  const { warnings, notes } = await findDoubts(store, changes, dueAt)
  for (const note of notes) io.stderr.write(`Note: ${note}\n`)
  for (const warning of warnings) io.stderr.write(`Warning: ${warning}\n`)
  return warnings.length > 0
}

/** Says what became of a change, and warns of pending publications. */
export function printPublication(
  { stdout, stderr }: CommandContext['io'],
  publication: Publication | undefined,
  target: Target,
): void {
  if (publication === undefined) return
  for (const warning of describeOverlaps(publication, target)) stderr.write(`${warning}\n`)
  stdout.write(`${describePublication(publication, target)}\n`)
}

/** Says what happened, and how to take it back. */
function describePublication({ id, state, dueAt }: Publication, target: Target): string {
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  if (state === 'published') return `Published as publication ${id}. To take it back: ${command('undo')}`
  if (state === 'scheduled') {
    return `Publication ${id} is scheduled for ${formatIsoTime(dueAt ?? 0)}. To stop it: ${command('cancel')}`
  }
  const when = dueAt === null ? '' : ` It is then published at ${formatIsoTime(dueAt)}.`
  return `Publication ${id} needs the approval of another operator: ${command('approve')}${when}`
}

/** Warns of pending publications that will conflict with this one. */
function describeOverlaps({ id, state, overlaps }: Publication, target: Target): string[] {
  return overlaps.map((other) => {
    const cancel = describeCommand(target, 'catalog', 'cancel', String(other))
    return state === 'published'
      ? `Warning: the pending publication ${other} changes the same plans and will conflict. Cancel it, and make its change again: ${cancel}`
      : `Warning: the pending publication ${other} changes the same plans. The later one of ${other} and ${id} will conflict. To cancel ${other}: ${cancel}`
  })
}

export function publicationToJson(publication: Publication | undefined) {
  if (publication === undefined) return null
  const { id, state, dueAt, overlaps } = publication
  return { id, state, dueAt: formatOptionalTime(dueAt), overlaps }
}
