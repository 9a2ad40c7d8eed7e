// The code of ops catalog log, show, undo, redo, approve, cancel
import { abbreviate } from '../../abbreviate.ts'
import { nameConflicts } from '../../catalog/merge-plan.ts'
import type { Attribution } from '../core/attribution.ts'
import { readDatabaseSeconds } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { isPending, listPublications, readPublication, type PublicationDetails } from '../core/publication-log.ts'
import { prepareRedo, prepareUndo, type PreparedChange } from '../core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  countPlans,
  publishChange,
  type Publication,
  type PublicationRequest,
  type PublicationRow,
} from '../core/publications.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import { formatPairs } from '../terminal/table.ts'
import type { Handlers, InputOf } from './verb.ts'
import { formatCountries } from './difference-output.ts'
import type { publicationDeclarations } from './publication-declarations.ts'
import { createRequest, printDoubts, printPublication, publicationToJson, reviewChanges } from './publication-output.ts'
import type { Output } from './run.ts'

type Declarations = typeof publicationDeclarations
type LogInput = InputOf<Declarations['log']>
type ChangeRun = Parameters<Handlers<Declarations>['cancel']>[1]

export const publicationCommands: Handlers<Declarations> = {
  async log(input, { store }) {
    const { plan, since, pending: onlyPending } = input
    const seconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
    const rows = await listPublications(store, { plan, since: seconds, onlyPending })
    const note = rows.length === 0 ? describeEmptyLog(input) : undefined
    return { data: rows.map(toJson), text: rows.map(toTableRow), note }
  },

  async show({ number, json }, { store, ...run }) {
    const details = await readPublication(store, number)
    const { row, changes } = details
    // The approver reads what the author was warned of.
    if (isPending(row) && !json) await printDoubts(run, store, changes, row)
    return { data: detailsToJson(details), text: formatDetails(details) }
  },

  async undo(input, run) {
    const { number: id, plan: plans, exceptChanged } = input
    const prepared = await prepareUndo(run.store, id, { plans, exceptChanged })
    if (prepared.conflicts.length > 0)
      run.warn(`Note: it leaves what was changed later: ${nameConflicts(prepared.conflicts)}.`)
    const count = countPlans(prepared.changes.length)
    return (
      await publishPrepared(prepared, input, run, { undoneId: id }, `${count} will be as before publication ${id}.`)
    ).output
  },

  async redo(input, run) {
    const { number: id } = input
    const prepared = await prepareRedo(run.store, id)
    if (prepared.conflicts.length > 0)
      run.warn(`Warning: it replaces what others changed: ${nameConflicts(prepared.conflicts)}.`)
    const effect = `Publication ${id} will be made again.`
    const { output, publication } = await publishPrepared(prepared, input, run, {}, effect)
    if (publication !== undefined) {
      const note = `Made again as publication ${publication.id}.`
      await cancelPublication(run.store, id, { ...run.attribution, note })
    }
    return output
  },

  approve: ({ number, json }, run) =>
    decide(number, run, async (store, id, attribution) => {
      const { row, changes, difference } = await readPublication(store, id)
      if (row.state === 'waiting') {
        if (!json) run.report(...formatCountries(difference))
        const conflict = row.conflict === null ? [] : [`It can’t be published: ${row.conflict}.`]
        await printDoubts(run, store, changes, row, conflict)
        const effect = row.conflict === null ? 'be published' : 'end as conflicted, for catalog redo'
        await run.confirm(`Publication ${id} will ${effect}.`)
      }
      return approvePublication(store, id, attribution)
    }),

  cancel: ({ number }, run) => decide(number, run, cancelPublication),
}

/** Shows a change that was computed from the record, asks, and publishes it. */
async function publishPrepared(
  { difference, ...change }: PreparedChange,
  input: Omit<InputOf<Declarations['redo']>, 'number'>,
  run: ChangeRun,
  request: Pick<PublicationRequest, 'undoneId'>,
  effect: string,
): Promise<{ output: Output | undefined; publication: Publication | undefined }> {
  const { dryRun, json } = input
  const { store } = run
  if (!json) run.report(...formatCountries(difference))
  const question = { describeEffect: () => effect, isLocal: true, isShown: !json }
  if (dryRun) await reviewChanges(run, input, store, change.changes)
  const publication = dryRun
    ? undefined
    : await publishChange(store, change, { ...createRequest(run, input, question), ...request })
  const { countries, unseen } = difference
  if (json)
    return {
      output: { data: { countries, unseen, publication: publicationToJson(publication) }, text: '' },
      publication,
    }
  printPublication(run, publication)
  return { output: undefined, publication }
}

async function decide(
  id: number,
  { store, attribution }: ChangeRun,
  work: (store: Store, id: number, attribution: Attribution) => Promise<PublicationRow>,
): Promise<Output> {
  const row = await work(store, id, attribution)
  const when = row.state === 'scheduled' ? ` for ${formatIsoTime(row.dueAt ?? 0)}` : ''
  const merged = row.id === id ? '' : ` as publication ${row.id}, merged with later changes`
  return { data: toJson(row), text: `Publication ${id} is ${row.state}${merged}${when}.\n` }
}

/** The time that matters in the state of a publication, in Unix seconds. */
function readTime({ decidedAt, dueAt, createdAt }: PublicationRow): number {
  return decidedAt ?? dueAt ?? createdAt
}

function toTableRow(row: PublicationRow): Record<string, string> {
  const { id, state, planCount, actor, note, approvedNote, decidedNote, conflict } = row
  const problem = conflict !== null && isPending(row) ? `will conflict: ${conflict}` : conflict
  const notes = new Set([note, approvedNote, decidedNote, problem].filter((text) => text !== null))
  return {
    NUMBER: String(id),
    STATE: state,
    TIME: formatIsoTime(readTime(row)),
    PLANS: String(planCount),
    BY: actor,
    NOTE: [...notes].join('; '),
  }
}

function formatDetails({ row, difference }: PublicationDetails): string {
  const pairs: [string, string | number | null][] = [
    ['number', row.id],
    ['state', row.state],
    ['actor', row.actor],
    ['command', row.command],
    ['note', row.note],
    ['undoes', row.undoneId],
    ['replaces', row.replacesId],
    ['made', formatIsoTime(row.createdAt)],
    ['due', formatOptionalTime(row.dueAt)],
    ['approved', describeDecision(row.approvedBy, row.approvedAt)],
    ['because', row.approvedNote],
    [row.state, describeDecision(row.decidedBy, row.decidedAt)],
    ['because', row.decidedNote === row.approvedNote ? null : row.decidedNote],
    ['conflict', row.conflict],
    ['revision', row.revision],
    ['plans', row.planCount],
  ]
  const given = pairs.flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, String(value)]]))
  return [formatPairs(given), ...formatCountries(difference).map((line) => `${line}\n`)].join('')
}

function describeDecision(actor: string | null, time: number | null): string | null {
  return actor === null || time === null ? null : `${formatIsoTime(time)}, by ${actor}`
}

function toJson(row: PublicationRow) {
  const { baseRevision: _, plansHash: __, ...shown } = row
  const times = {
    createdAt: formatIsoTime(row.createdAt),
    dueAt: formatOptionalTime(row.dueAt),
    approvedAt: formatOptionalTime(row.approvedAt),
    decidedAt: formatOptionalTime(row.decidedAt),
  }
  return { ...shown, ...times }
}

function detailsToJson({ row, changes, difference: { countries, unseen } }: PublicationDetails) {
  return { ...toJson(row), plans: changes, countries, unseen }
}

function describeEmptyLog({ plan, since, pending }: LogInput): string {
  if (plan === undefined && since === undefined && !pending) return 'Nothing has been published yet.'
  const words = [
    pending ? 'No pending publications' : 'No publications',
    ...(plan === undefined ? [] : [`of the plan ${abbreviate(plan)}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
  ]
  return `${words.join(' ')}.`
}
