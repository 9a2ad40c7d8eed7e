// The code of ops catalog log, show, undo, approve, cancel
import { abbreviate } from '../../abbreviate.ts'
import type { Attribution } from '../core/attribution.ts'
import { readDatabaseSeconds } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { listPublications, readPublication, verifyRecord, type PublicationDetails } from '../core/publication-log.ts'
import { describeLaterChanges, prepareUndo } from '../core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  countPlans,
  findPublication,
  publishChange,
  type PublicationRow,
} from '../core/publications.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import { formatPairs } from '../terminal/table.ts'
import { showVerified } from './change-log.ts'
import type { Handlers, Input } from './declaration.ts'
import { formatCountries } from './difference-output.ts'
import type { publicationDeclarations } from './publication-declarations.ts'
import { createRequest, printDoubts, printPublication, publicationToJson, reviewChanges } from './publication-output.ts'
import type { Output } from './run.ts'

type Declarations = typeof publicationDeclarations
type LogInput = Input<Declarations['log']>
type ChangeRun = Parameters<Handlers<Declarations>['cancel']>[1]

export const publicationCommands: Handlers<Declarations> = {
  async log(input, { store }) {
    const { plan, since, pending: isPending, verify, keep } = input
    if (verify) return showVerified('catalog', store, verifyRecord, keep)
    const seconds = since === undefined ? undefined : parsePast(since, await readDatabaseSeconds(store))
    const rows = await listPublications(store, { plan, since: seconds, isPending })
    const note = rows.length === 0 ? describeEmptyLog(input) : undefined
    return { value: rows.map(toJson), text: rows.map(toTableRow), note }
  },

  async show({ number, json }, { store, ...run }) {
    const details = await readPublication(store, number)
    const { row, changes } = details
    // The approver reads what the author was warned of.
    const isPending = row.state === 'waiting' || row.state === 'scheduled'
    if (isPending && !json) await printDoubts(run, store, changes, row.dueAt)
    return { value: detailsToJson(details), text: formatDetails(details) }
  },

  async undo(input, run) {
    const { number: id, plan: plans, exceptChanged, dryRun, json } = input
    const { store, report, warn } = run
    const { difference, left, ...change } = await prepareUndo(store, id, { plans, exceptChanged })
    warn(...describeLaterChanges(left).map((line) => `Note: ${line}`))
    const { countries, unseen } = difference
    if (!json) report(...formatCountries(difference))
    const question = {
      describeEffect: () => `${countPlans(change.changes.length)} will be as before publication ${id}.`,
      isLocal: true,
      isShown: !json,
    }
    if (dryRun) await reviewChanges(run, input, store, change.changes)
    const publication = dryRun
      ? undefined
      : await publishChange(store, change, { ...createRequest(run, input, question), undoneId: id })
    if (json) return { value: { countries, unseen, publication: publicationToJson(publication) }, text: '' }
    printPublication(run, publication)
    return undefined
  },

  approve: ({ number, json }, run) =>
    decide(number, run, async (store, id, attribution) => {
      const { row, changes, difference, clash } = await readPublication(store, id)
      if (row.state === 'waiting') {
        if (!json) run.report(...formatCountries(difference))
        const conflict = clash === undefined ? [] : [`It can’t be published: ${clash}.`]
        await printDoubts(run, store, changes, row.dueAt, conflict)
        await run.confirm(`Publication ${id} will be published.`)
      }
      await approvePublication(store, id, attribution)
    }),

  cancel: ({ number }, run) => decide(number, run, cancelPublication),
}

async function decide(
  id: number,
  { store, attribution }: ChangeRun,
  work: (store: Store, id: number, attribution: Attribution) => Promise<void>,
): Promise<Output> {
  await work(store, id, attribution)
  const row = await findPublication(store, id)
  const when = row.state === 'scheduled' ? ` for ${formatIsoTime(row.dueAt ?? 0)}` : ''
  return { value: toJson(row), text: `Publication ${id} is ${row.state}${when}.\n` }
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

function describeEmptyLog({ plan, since, pending }: LogInput): string {
  if (plan === undefined && since === undefined && !pending) return 'Nothing has been published yet.'
  const words = [
    pending ? 'No pending publications' : 'No publications',
    ...(plan === undefined ? [] : [`of the plan ${abbreviate(plan)}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
  ]
  return `${words.join(' ')}.`
}
