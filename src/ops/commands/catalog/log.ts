// The command `ops log`: lists who changed the catalog, partners and keys, when and why.
import { compareChange, type PlanDifference } from '../../core/differences/catalog-difference.ts'
import { requirePartner, readPartnerStatus } from '../../core/partners/partner-accounts.ts'
import {
  listLoggedChanges,
  listPublications,
  openStates,
  type ForecastRow,
} from '../../core/publications/publication-log.ts'
import { formatPlanCount } from '../../core/publications/publications.ts'
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
import { describeChange, publicationRowToJson } from './publication-output.ts'

const recentDays = 30

/** An entry of the log: a change of plans, of a partner or of a key. */
interface Entry {
  /** When a publication was decided, otherwise when it is due, otherwise when the change was made. Unix seconds. */
  time: number
  /** The output of --json. */
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
      help: 'only publications that change this plan, also pending or cancelled ones, with that change',
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
    const showsOnlyRecent = !json && !pending && [since, until, output].every((flag) => flag === undefined)
    const times = { since: showsOnlyRecent ? Math.floor(clock.nowMs() / 1000) - recentDays * 86_400 : since, until }
    const isUnfiltered = partner === undefined && plan === undefined && !keys && !pending
    const states = pending ? openStates : undefined
    const shortName = partner === undefined ? undefined : (await requirePartner(store, partner)).shortName
    const publications =
      partner === undefined && !keys
        ? await listPublications(store, { plan, ...times, states, isOpenIncluded: showsOnlyRecent })
        : []
    const partnerEntries =
      isUnfiltered || partner !== undefined ? await selectPartnerEntries(store.db, { shortName, ...times }) : []
    const keyEntries = isUnfiltered || keys ? await selectKeyEntries(store.db, times) : []
    const entries = [
      ...publications.map(({ changes: [change], ...row }) =>
        makePublicationEntry(row, change && compareChange(change), plan),
      ),
      ...partnerEntries.map(makePartnerEntry),
      ...keyEntries.map(makeKeyEntry),
    ].toSorted((a, b) => b.time - a.time)
    const data = entries.map((entry) => entry.data)
    if (output !== undefined) {
      const { formatLogFile } = await import('../../core/file-formats/log-file.ts')
      // Without publications, an .xlsx file gets no second sheet.
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
    const emptyNote = entries.length === 0 ? 'No entry matches.' : ''
    const recentNote = showsOnlyRecent
      ? `Only the last ${recentDays} days are shown. --since shows more; --output and --json have every entry.`
      : ''
    return { data, text: entries.map(formatTableRow), note: `${emptyNote} ${recentNote}`.trim() || undefined }
  },
})

/**
 * @param change the publication's change of the plan that --plan names; undefined without --plan.
 * @param plan the identifier or the ID that was typed after --plan. An ID may have belonged to several plans, so the entry names the plan.
 */
function makePublicationEntry(row: ForecastRow, change?: PlanDifference, plan?: string): Entry {
  const { id, state, planCount, actor: by, undoneId, willConflict } = row
  const planPrefix = change === undefined || change.identifier === plan ? '' : `${change.identifier}: `
  const parts = [
    willConflict === null ? state : 'will conflict',
    ...(undoneId === null ? [] : [`undoes ${undoneId}`]),
    change ? `${planPrefix}${describeChange(change)}` : formatPlanCount(planCount),
  ]
  return {
    time: row.decidedAt ?? row.dueAt ?? row.createdAt,
    data: { kind: 'publication', ...publicationRowToJson(row), ...(change && { change }) },
    subject: `publication ${id}`,
    action: parts.join(', '),
    by,
    noteOrCommand: describeReasons(row),
    change,
  }
}

/** Joins notes, conflict, cancellation and approval: `Target reached; approved by ben: Checked.` If there is only an approval, or nothing, starts with the command. */
function describeReasons(row: ForecastRow): string {
  const { state, actor, note, command, approvedBy, approvedNote, decidedBy, decidedNote, conflict, willConflict } = row
  const isCancelledByOther = state === 'cancelled' && decidedBy !== null && decidedBy !== actor
  // If the approver also decided, `decidedNote` is the note of the approval.
  const decisionNote = decidedBy === approvedBy ? null : decidedNote
  const decision = isCancelledByOther ? describeAct('cancelled', decidedBy, decidedNote) : decisionNote
  const reasons = [note, decision, conflict, willConflict].filter((text) => text !== null)
  const approval = approvedBy === null ? [] : [describeAct('approved', approvedBy, approvedNote)]
  const parts = [...(reasons.length === 0 ? [command] : reasons), ...approval]
  // Only the last part keeps the full stop of its sentence.
  return parts.map((part, index) => (index < parts.length - 1 ? part.replace(/\.$/, '') : part)).join('; ')
}

/** `approved by ben: Checked.` */
const describeAct = (act: string, actor: string, note: string | null) =>
  `${act} by ${nameActor(actor)}${note ? `: ${note}` : ''}`

/** `ben` for `ben@example.com` */
const nameActor = (actor: string) => actor.replace(/@.*/, '')

function makePartnerEntry(entry: PartnerEntry): Entry {
  const { id, changedAt, kind: action, ...fields } = entry
  return {
    time: changedAt,
    data: { kind: 'partner', ...formatTimes({ id, changedAt, action, ...fields }), status: readPartnerStatus(entry) },
    subject: `partner ${entry.shortName}`,
    action: describePartnerAction(entry),
    by: entry.actor,
    noteOrCommand: entry.note ?? entry.command,
  }
}

function makeKeyEntry({ id, changedAt, kind: action, ...fields }: KeyEntry): Entry {
  return {
    time: changedAt,
    data: { kind: 'key', ...formatTimes({ id, changedAt, action, ...fields }) },
    subject: `key ${fields.kid}`,
    action: action.replace('keys-', ''),
    by: fields.actor,
    noteOrCommand: fields.note ?? fields.command,
  }
}

/** `suspend`, or `set country: KE → UG, contact`: says that a contact changed, but the record does not keep the contact. */
function describePartnerAction({ kind, name: newName, country, nameBefore, countryBefore }: PartnerEntry): string {
  if (kind === 'create') return `create: ${newName}, ${country}`
  const changes = [
    ...(country === countryBefore ? [] : [`country: ${countryBefore} → ${country}`]),
    ...(newName === nameBefore ? [] : [`name: ${nameBefore} → ${newName}`]),
    ...(kind === 'set-contact' ? ['contact'] : []),
  ]
  return `${kind.replace('-contact', '')} ${changes.join(', ')}`.trim()
}

function formatTableRow({ time, subject, action, by, noteOrCommand }: Entry) {
  return { ...toTimeColumn(time), subject, action, by: nameActor(by), noteOrCommand }
}

/** In a spreadsheet, `change` is a text, and not the object of --json. */
function formatSheetRow({ time, subject, data, change }: Entry) {
  return { time: formatIsoTime(time), subject, ...data, ...(change && { change: describeChange(change) }) }
}
