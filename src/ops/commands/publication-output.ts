// What commands that change the catalog share: the review before the question, and what they say about the publication.
import type { Attribution } from '../core/attribution.ts'
import { compareChanges } from '../core/catalog-difference.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { findDoubts } from '../core/plausibility.ts'
import type { PlanChange, Publication, PublicationRequest } from '../core/publications.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { formatCountries } from './difference-output.ts'
import type { Run } from './run.ts'

interface ReviewInput {
  /** Unix seconds: when the change is published; now by default. */
  at: number | undefined
  dryRun?: boolean
}

interface Question {
  /** Doubts besides those about the plans, such as the work of others that is taken back. */
  warnings?: readonly string[]
  /** What the question names even without a warning, such as plans that are removed. */
  describeEffect?: (changes: readonly PlanChange[]) => string | undefined
  /** Whether local state asks, too, on a terminal. */
  isLocal?: boolean
  /** Whether the difference was printed before. */
  isShown?: boolean
}

export function createRequest(
  run: Run & { attribution: Attribution },
  input: ReviewInput,
  question: Question = {},
): PublicationRequest {
  return {
    attribution: run.attribution,
    dueAt: input.at,
    onProgress: run.update,
    review: (store, changes) => reviewChanges(run, input, store, changes, question),
  }
}

/**
 * Warns of a change that looks like a mistake. Before the question, it shows what partners of each country will see.
 * @throws UserError when the answer is not yes.
 */
export async function reviewChanges(
  run: Run,
  { at, dryRun = false }: ReviewInput,
  store: Store,
  changes: readonly PlanChange[],
  { warnings = [], describeEffect = () => undefined, isLocal = false, isShown = false }: Question = {},
): Promise<void> {
  const isDoubtful = await printDoubts(run, store, changes, { dueAt: at ?? null }, warnings)
  const effect = describeEffect(changes)
  if (dryRun || run.isSure || (effect === undefined && !isDoubtful)) return
  if ((run.target.remote || isLocal) && !isShown && run.io.stdin.isTTY)
    run.warn(...formatCountries(compareChanges(changes)))
  const question = [effect, isDoubtful && 'Are the warnings above intended?'].filter(Boolean).join(' ')
  await run.confirm(question, { isLocal })
}

/**
 * @param publication `dueAt` is null for now; a change that is pending has an ID.
 * @param known warnings that come first.
 * @returns whether there is a warning.
 */
export async function printDoubts(
  { warn }: Pick<Run, 'warn'>,
  store: Store,
  changes: readonly PlanChange[],
  { id, dueAt }: { id?: number; dueAt: number | null },
  known: readonly string[] = [],
): Promise<boolean> {
  const doubts = await findDoubts(store, changes, dueAt, id)
  const warnings = [...known, ...doubts.warnings]
  warn(...doubts.notes.map((note) => `Note: ${note}`), ...warnings.map((warning) => `Warning: ${warning}`))
  return warnings.length > 0
}

/** Says what became of a change. */
export function printPublication({ target, report }: Run, publication: Publication | undefined): void {
  if (publication !== undefined) report(describePublication(publication, target))
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

export function publicationToJson(publication: Publication | undefined) {
  if (publication === undefined) return null
  return { ...publication, dueAt: formatOptionalTime(publication.dueAt) }
}
