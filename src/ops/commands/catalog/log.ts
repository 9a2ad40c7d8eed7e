// ops log: who changed the catalog, partners and keys, when and why.
import { compareChange, type PlanDifference } from '../../core/differences/catalog-difference.ts'
import { findPartner, readPartnerStatus } from '../../core/partners/partner-accounts.ts'
import {
  listLoggedChanges,
  listPublications,
  openStates,
  type ForecastRow,
} from '../../core/publications/publication-log.ts'
import { countPlans } from '../../core/publications/publications.ts'
import {
  selectKeyEntries,
  selectPartnerEntries,
  type KeyEntry,
  type PartnerEntry,
} from '../../core/record/change-record.ts'
import { formatIsoTime, formatTimes } from '../../shared/iso-time.ts'
import { parsePastEnd, toTimeColumn } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import { forceFlag, sinceFlag } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'
import { describeChange, rowToJson } from './publication-output.ts'

const recentDays = 30

/** A change of plans, a partner or a key, as it is printed. */
interface Entry {
  /** Unix seconds. */
  time: number
  /** The entry as --json prints it. */
  data: Record<string, unknown>
  /** `publication 12`, `partner acme` or `key 1793606460` */
  subject: string
  /** `published, 3 plans` or `set country: KE → UG` */
  action: string
  by: string
  noteOrCommand: string
  /** The change of the plan that --plan names. */
  change?: PlanDifference | undefined
}

export const log = verb({
  help: `list who changed the catalog, partners and keys, when and why, the latest first; by default of the last ${recentDays} days, with every pending publication`,
  example: 'log --since 7d',
  flags: {
    partner: {
      value: '<short-name>',
      help: 'only changes of this partner',
      conflicts: ['plan', 'keys', 'pending'],
    },
    plan: {
      value: '<id>',
      help: 'only publications that changed this plan, with what they changed in it',
      conflicts: ['keys', 'pending'],
    },
    keys: { help: 'only changes of signing keys', conflicts: ['pending'] },
    pending: { help: 'only publications that wait for their time or for approval, or that conflicted' },
    since: sinceFlag,
    until: { value: '<time>', help: 'only up to this time; a day counts to its end', parse: parsePastEnd },
    output: { value: '<file>', help: 'write all entries into a spreadsheet: .xlsx or .csv' },
    force: forceFlag,
  },
  json: 'an array of all entries, the latest first, each with its kind: publication, partner or key',
  async run({ partner, plan, keys, pending, since, until, output, force, json }, { store, clock }) {
    if (output !== undefined) await checkFileIsNew(output, force)
    if (since !== undefined && until !== undefined && since > until) {
      throw new UserError('--since is later than --until: no entry is between them.')
    }
    const isRecent = !json && !pending && [since, until, output].every((flag) => flag === undefined)
    const times = { since: isRecent ? Math.floor(clock.nowMs() / 1000) - recentDays * 86_400 : since, until }
    const isWhole = partner === undefined && plan === undefined && !keys && !pending
    const states = pending ? openStates : undefined
    const shortName = partner === undefined ? undefined : (await findPartner(store, partner)).shortName
    const publications =
      partner === undefined && !keys
        ? await listPublications(store, { plan, ...times, states, isOpenIncluded: isRecent })
        : []
    const changes = [
      ...(isWhole || partner !== undefined ? await selectPartnerEntries(store.db, { shortName, ...times }) : []),
      ...(isWhole || keys ? await selectKeyEntries(store.db, times) : []),
    ]
    const entries = [
      ...publications.map(({ changes: [change], ...row }) =>
        makePublicationEntry(row, change && compareChange(change), plan),
      ),
      ...changes.map(makeChangeEntry),
    ].toSorted((a, b) => b.time - a.time)
    const data = entries.map((entry) => entry.data)
    if (output !== undefined) {
      const { formatLogFile } = await import('../../core/file-formats/log-file.ts')
      const readChanges = publications.length === 0 ? undefined : () => listLoggedChanges(store, publications)
      const { content, lacksChanges } = await formatLogFile(entries.map(formatSheetRow), output, readChanges)
      await writeOutput(output, content)
      return {
        data,
        text: `Wrote ${data.length} ${data.length === 1 ? 'entry' : 'entries'} to ${output}.\n`,
        note: lacksChanges
          ? 'A .csv file lacks the fields that changed: an .xlsx file has them on a second sheet.'
          : undefined,
      }
    }
    const none = entries.length === 0 ? 'No entry matches.' : ''
    const recent = isRecent
      ? `Only the last ${recentDays} days are shown. For more, add --since, --output or --json.`
      : ''
    return { data, text: entries.map(formatTableRow), note: `${none} ${recent}`.trim() || undefined }
  },
})

/** @param change how the publication changed the plan of --plan. @param plan the value of --plan. */
function makePublicationEntry(row: ForecastRow, change?: PlanDifference, plan?: string): Entry {
  const { id, state, planCount, actor: by, undoneId, willConflict } = row
  const named = change === undefined || change.identifier === plan ? '' : `${change.identifier}: `
  const parts = [
    willConflict === null ? state : 'will conflict',
    ...(undoneId === null ? [] : [`undoes ${undoneId}`]),
    change ? `${named}${describeChange(change)}` : countPlans(planCount),
  ]
  return {
    time: row.decidedAt ?? row.dueAt ?? row.createdAt,
    data: { kind: 'publication', ...rowToJson(row), ...(change && { change }) },
    subject: `publication ${id}`,
    action: parts.join(', '),
    by,
    noteOrCommand: describeNotes(row),
    change,
  }
}

/** Says why a publication was made, or which command made it, why it conflicted or will, and who decided about it. */
function describeNotes(row: ForecastRow): string {
  const { state, actor, note, command, approvedBy, approvedNote, decidedBy, decidedNote, conflict, willConflict } = row
  const isByOther = state === 'cancelled' && decidedBy !== null && decidedBy !== actor
  // The note of an approval is told with the approval.
  const ownNote = decidedBy === approvedBy ? null : decidedNote
  const decision = isByOther ? describeAct('cancelled', decidedBy, decidedNote) : ownNote
  const reasons = [note, decision, conflict, willConflict].filter((text) => text !== null)
  const approval = approvedBy && describeAct('approved', approvedBy, approvedNote)
  const parts = [...(reasons.length === 0 ? [command] : reasons), ...(approval ? [approval] : [])]
  // A note may be a sentence.
  return parts.map((part, index) => (index < parts.length - 1 ? part.replace(/\.$/, '') : part)).join('; ')
}

/** `approved by ben: Checked.` */
const describeAct = (act: string, actor: string, note: string | null) =>
  `${act} by ${nameActor(actor)}${note ? `: ${note}` : ''}`

/** `ben` for `ben@example.com` */
const nameActor = (actor: string) => actor.replace(/@.*/, '')

/** @param entry a change of a partner or a key. */
function makeChangeEntry(entry: PartnerEntry | KeyEntry): Entry {
  const { id, changedAt, kind: action, ...rest } = entry
  const [kind, name, status] =
    'kid' in entry ? ['key', entry.kid, {}] : ['partner', entry.shortName, { status: readPartnerStatus(entry) }]
  return {
    time: changedAt,
    data: { kind, ...formatTimes({ id, changedAt, action, ...rest }), ...status },
    subject: `${kind} ${name}`,
    action: 'kid' in entry ? action.replace('keys-', '') : describeAction(entry),
    by: entry.actor,
    noteOrCommand: entry.note ?? entry.command,
  }
}

/** `set country: KE → UG, contact`: the record does not keep contacts. */
function describeAction({ kind, name: newName, country, nameBefore, countryBefore }: PartnerEntry): string {
  if (kind === 'create') return `create: ${newName}, ${country}`
  const changes = [
    ...(country === countryBefore ? [] : [`country: ${countryBefore} → ${country}`]),
    ...(newName === nameBefore ? [] : [`name: ${nameBefore} → ${newName}`]),
    ...(kind === 'set-contact' ? ['contact'] : []),
  ]
  return [kind.replace('-contact', ''), changes.join(', ')].join(' ').trim()
}

function formatTableRow({ time, subject, action, by, noteOrCommand }: Entry) {
  return { ...toTimeColumn(time), subject, action, by: nameActor(by), noteOrCommand }
}

function formatSheetRow({ time, subject, data, change }: Entry) {
  return { time: formatIsoTime(time), subject, ...data, ...(change && { change: describeChange(change) }) }
}
