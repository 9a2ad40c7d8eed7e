// ops plan …
import { abbreviate } from '../../abbreviate.ts'
import { listMatchingFilters } from '../../catalog/plan-filters.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { compareChange } from '../core/catalog-difference.ts'
import { findPlan, listPlans } from '../core/catalog-plans.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { closePlan, openPlan, setFields, setViewable, type PlanResult } from '../core/plan-changes.ts'
import {
  explainPlan,
  findSettlingTime,
  selectPendingChanges,
  type Cause,
  type PendingChange,
  type PlanExplanation,
} from '../core/plan-explanation.ts'
import { formatLocalTime } from '../core/time-arguments.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { putOnOneLine } from '../terminal/table.ts'
import {
  createRequest,
  describeChange,
  formatDifference,
  printPublication,
  publicationToJson,
} from './publication-output.ts'
import type { Output, Run } from './run.ts'
import { timeFlag } from './shared-flags.ts'
import { verb } from './verb.ts'

const args = { id: {} } as const
const country = {
  value: '<code>',
  help: 'the country, ISO 3166-1 alpha-2; may be repeated',
  isRequired: true,
  isList: true,
} as const
const json = 'an object with plan and publication'

export const plan = {
  list: verb({
    help: 'list all plans, or the plans that are viewable in a country, now, in the past, or with what is scheduled',
    example: 'plan list --country KE',
    flags: {
      country: { value: '<code>', help: 'only the plans that are viewable in this country' },
      at: timeFlag,
    },
    json: 'an array',
    progress: 'Reading the catalog',
    async run({ country: code, at }, { store, target }) {
      const plans = await listPlans(store, code, at)
      const note = plans.length === 0 ? describeEmptyList(code, target) : undefined
      return { data: plans.map(summarize), text: plans.map(toRow), note }
    },
  }),

  show: verb({
    help: 'show every field of a plan, and the changes that wait for their time or for approval',
    example: 'plan show dhahabu-gold-tracker',
    args,
    flags: { at: timeFlag },
    json: 'the plan as it is in a catalog file',
    async run({ id, at }, { store }) {
      const data = await findPlan(store, id, at)
      const pending = at === undefined ? await selectPendingChanges(store, id) : []
      const note = pending.map(describePending).join('\n')
      return { data, note: note || undefined }
    },
  }),

  offer: verb({
    help: 'put a plan on the list of a country',
    example: 'plan offer mwamba-money-market-fund --country KE',
    args,
    flags: { country },
    changes: 'publication',
    json,
    async run({ id, country: countries, at }, run) {
      const result = await setViewable(run.store, id, { countries, isViewable: true }, createRequest(run, { at }))
      return report(result, run, describeState(result))
    },
  }),

  withdraw: verb({
    help: 'take a plan off the list of a country',
    example: 'plan withdraw mwamba-money-market-fund --country KE --note "Wrong country."',
    args,
    flags: { country },
    changes: 'publication',
    json,
    async run({ id, country: countries, at }, run) {
      const result = await setViewable(run.store, id, { countries, isViewable: false }, createRequest(run, { at }))
      const { identifier, viewableIn } = result.before
      const others = countries.filter((code) => !viewableIn.includes(code))
      if (others.length > 0) run.warn(`${identifier} was not viewable in ${others.join(', ')}.`)
      return report(result, run, describeState(result))
    },
  }),

  close: verb({
    help: 'close a plan to new investment; it stays on its lists',
    example: 'plan close mwamba-money-market-fund --note "Sold out."',
    args,
    flags: { note: { value: '<text>', help: 'the reason, for partners to show, and for the record' } },
    changes: 'publication',
    json,
    async run({ id, note, at }, run) {
      const result = await closePlan(run.store, id, note, createRequest(run, { at }))
      return report(result, run, describeState(result))
    },
  }),

  open: verb({
    help: 'open a plan to new investment, and remove its note',
    example: 'plan open mwamba-money-market-fund',
    args,
    changes: 'publication',
    json,
    async run({ id, at }, run) {
      const result = await openPlan(run.store, id, createRequest(run, { at }))
      return report(result, run, describeState(result))
    },
  }),

  set: verb({
    help: 'change fields: name=value, with null for nothing, and a dot for a part, such as category.id=3',
    example: 'plan set mwamba-money-market-fund performance1=12.4 minTopUpAmounts.KES=500',
    args: { id: {}, assignments: { isList: true } },
    changes: 'publication',
    json,
    async run({ id, assignments, at }, run) {
      const result = await setFields(run.store, id, assignments, createRequest(run, { at }))
      const { before, plan: after, publication } = result
      if (publication === undefined) return report(result, run, `${after.identifier} has these values already.`)
      return report(result, run, ...formatDifference([{ before, after }]))
    },
  }),

  why: verb({
    help: 'say why a partner sees a plan, or does not, and who took it off the list',
    example: 'plan why mwamba-money-market-fund --partner acme',
    args,
    flags: {
      partner: { value: '<short-name>', help: 'the partner', isRequired: true },
      at: timeFlag,
    },
    json: 'an object with isSeen, reason, sentence, fix, settledAt and pending',
    async run({ id, partner: shortName, at }, { store, target }) {
      const explanation = await explainPlan(store, { plan: id, shortName, at })
      const { reason } = explanation
      const isAboutPlan = reason === 'no_such_plan' || explanation.plan !== undefined
      const later = at === undefined && isAboutPlan ? await selectPendingChanges(store, id) : []
      const pending = later.map(describePending)
      const settledAt = await findSettlingTime(store, explanation, at)
      const said = describeExplanation(explanation, id, target)
      const sentence = at === undefined ? said.sentence : `As of ${formatLocalTime(at)}, ${said.sentence}`
      const fix = at === undefined ? said.fix : null
      const settling =
        settledAt &&
        `The plan or the partner changed less than ${freshness} before: until ${formatIsoTime(settledAt)}, partners may get the answer from before.`
      const lines = [[sentence, fix].filter(Boolean).join(' '), settling, ...pending].filter(Boolean)
      return {
        data: {
          isSeen: reason === 'viewable',
          reason,
          sentence,
          fix,
          settledAt: formatOptionalTime(settledAt ?? null),
          pending,
        },
        text: `${lines.join('\n')}\n`,
      }
    },
  }),
}

function report({ plan: after, publication }: PlanResult, run: Run, ...lines: string[]): Output {
  run.report(...lines)
  printPublication(run, publication)
  return { data: { plan: after, publication: publicationToJson(publication) }, text: '' }
}

function describeState({ plan: { identifier, viewableIn, isInvestable }, publication }: PlanResult): string {
  const where = viewableIn.length === 0 ? 'nowhere' : `in ${viewableIn.join(', ')}`
  const verbs = publication === undefined ? 'is still' : publication.state === 'published' ? 'is' : 'will be'
  return `${identifier} ${verbs} viewable ${where}, and ${isInvestable ? 'open' : 'closed'} to investment.`
}

function describeEmptyList(code: string | undefined, target: Target): string {
  if (code === undefined) {
    return `The catalog has no plan. To import plans: ${describeCommand(target, 'catalog', 'import', 'FILE')}`
  }
  const all = describeCommand(target, 'plan', 'list')
  return `No plan is viewable in ${code}. To see all plans, and where they are viewable: ${all}`
}

function toRow({ identifier, fundType, currency, isInvestable, viewableIn }: CatalogPlan) {
  return { identifier, fundType, currency, open: isInvestable, viewableIn }
}

function summarize({ id, identifier, name, fundType, currency, category, isInvestable, viewableIn }: CatalogPlan) {
  return { id, identifier, name, fundType, currency, categoryId: category?.id ?? null, isInvestable, viewableIn }
}

/** @param id the plan as the operator named it. @returns the reason, and the command that would change it. */
function describeExplanation(explanation: PlanExplanation, id: string, target: Target) {
  const { reason, partner, cause } = explanation
  const { shortName, country: code } = partner
  const command = (...words: string[]) => describeCommand(target, ...words)
  switch (reason) {
    case 'partner_closed':
      return {
        sentence: `${shortName} sees no plan: it was closed at ${formatIsoTime(partner.closedAt ?? 0)}, for good.`,
        fix: `To create another partner: ${command('partner', 'create', '--help')}`,
      }
    case 'partner_suspended':
      return {
        sentence: `${shortName} sees no plan: it is suspended since ${formatIsoTime(partner.suspendedAt ?? 0)}${describeAuthor(cause)}.`,
        fix: `To see its record: ${command('partner', 'log', shortName)}; to end the suspension: ${command('partner', 'resume', shortName)}`,
      }
    case 'no_such_plan':
      return {
        sentence: `${shortName} does not see ${abbreviate(id)}: there is no plan with this identifier or ID.${describeWithdrawal(cause, code) || ' Is it mistyped?'}`,
        fix: `To see all plans: ${command('plan', 'list')}; to add it: ${command('catalog', 'import', 'FILE')}`,
      }
    case 'not_viewable': {
      const { identifier, viewableIn } = explanation.plan
      const where = viewableIn.length === 0 ? 'anywhere' : `there, only in ${viewableIn.join(', ')}`
      return {
        sentence: `${shortName} does not see ${identifier}: it lists the plans of ${code}, and the plan is not viewable ${where}.${describeWithdrawal(cause, code)}`,
        fix: `To put it on the list: ${command('plan', 'offer', identifier, '--country', code)}`,
      }
    }
    case 'viewable': {
      const { identifier, isInvestable } = explanation.plan
      const filters = listMatchingFilters(explanation.plan).map(putOnOneLine).join(', ')
      const closed = isInvestable ? '' : ' It is closed to investment, which does not affect the list.'
      return {
        sentence: `${shortName} sees ${identifier}: it is viewable in ${code}, without a filter or with any of ${filters}.${closed}`,
        fix: `To take it off the list: ${command('plan', 'withdraw', identifier, '--country', code)}`,
      }
    }
  }
}

function describeWithdrawal(cause: Cause | undefined, code: string): string {
  if (cause === undefined) return ''
  const { publicationId, time } = cause
  return ` Publication ${publicationId} took it off the list of ${code} at ${formatIsoTime(time ?? 0)}${describeAuthor(cause)}.`
}

function describeAuthor(cause: Cause | undefined): string {
  if (cause === undefined) return ''
  return `, by ${cause.actor}${cause.note ? ` (${putOnOneLine(cause.note)})` : ''}`
}

function describePending({ publicationId, dueAt, conflict, ...change }: PendingChange): string {
  const when = dueAt === null ? 'Once it is approved' : `From ${formatLocalTime(dueAt)}`
  const problem = conflict === null ? '' : `, which conflicts now: ${conflict}`
  return `${when}: ${describeChange(compareChange(change))} (publication ${publicationId}${problem}).`
}
