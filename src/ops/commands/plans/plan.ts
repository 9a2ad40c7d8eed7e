// The commands `ops plan …`: show plans, and change single plans without a file.
import { requirePlan, listPlans, listSummaries, type PlanSummary } from '../../core/catalog/catalog-plans.ts'
import type { PlanChange } from '../../core/publications/publications.ts'
import {
  prepareClosing,
  prepareFields,
  prepareOpening,
  prepareViewable,
  type PreparedPlan,
} from '../../core/plans/plan-changes.ts'
import { requireListedCountry, selectPendingChanges } from '../../core/plans/plan-explanation.ts'
import { toUpperCaseCode } from '../../shared/country.ts'
import { describeCommand } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { changeJson, publishChange } from '../catalog/publish-change.ts'
import { describePending } from './why.ts'
import type { Output } from '../frame/run.ts'
import { timeFlag } from '../frame/shared-flags.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const args = { id: {} } as const
const country = {
  value: '<code>',
  help: 'the country, such as KE (ISO 3166-1 alpha-2); may be repeated',
  isRequired: true,
  isList: true,
  parse: toUpperCaseCode,
} as const
const changeVerb = { args, changes: 'publication', json: changeJson } as const

export const plan = {
  list: verb({
    help: 'list the plans of the catalog, of a country or of a partner: now, in the past, or as they are scheduled to be',
    example: 'plan list --partner acme',
    flags: {
      country: { value: '<code>', help: 'only the plans that are viewable in this country', parse: toUpperCaseCode },
      partner: {
        value: '<short-name>',
        help: 'the plans that this partner gets; with --json, as in the response',
        conflicts: ['country'],
      },
      at: timeFlag,
    },
    json: 'an array of the plans as they are in a catalog file; with --partner, as in the response',
    async run({ country: code, partner, at, json: isJson }, { store }) {
      const listedCountry = partner === undefined ? code : await requireListedCountry(store, partner, at)
      const plans = await (isJson ? listPlans : listSummaries)(store, listedCountry, at)
      const emptyNote =
        listedCountry === undefined ? 'The catalog has no plan.' : `No plan is viewable in ${listedCountry}.`
      return {
        data: partner === undefined ? plans : plans.map(removeCountries),
        text: plans.map(formatTableRow),
        note: plans.length === 0 ? emptyNote : undefined,
      }
    },
  }),

  show: verb({
    help: 'show every field of a plan, and its pending changes: scheduled, or waiting for approval',
    example: 'plan show dhahabu-gold-tracker',
    args,
    flags: { at: timeFlag },
    json: 'the plan as it is in a catalog file',
    async run({ id, at }, { store }) {
      const data = await requirePlan(store, id, at)
      const pendingChanges = at === undefined ? await selectPendingChanges(store, id) : []
      const note = pendingChanges.map(describePending).join('\n')
      return { data, note: note || undefined }
    },
  }),

  offer: verb({
    ...changeVerb,
    help: 'put a plan on the list of a country',
    example: 'plan offer mwamba-money-market-fund --country KE',
    flags: { country },
    run: async ({ id, country: countries, at }, run) =>
      publishPlan(await prepareViewable(run.store, id, { countries, isViewable: true }), at, run),
  }),

  withdraw: verb({
    ...changeVerb,
    help: 'take a plan off the list of a country',
    example: 'plan withdraw mwamba-money-market-fund --country KE --note "Wrong country."',
    flags: { country },
    run: async ({ id, country: countries, at }, run) =>
      publishPlan(await prepareViewable(run.store, id, { countries, isViewable: false }), at, run),
  }),

  close: verb({
    ...changeVerb,
    help: 'close a plan to new investment; it stays on its lists',
    example: 'plan close mwamba-money-market-fund --public-note "Sold out."',
    flags: {
      publicNote: { value: '<text>', help: 'why, in words that partners show to their customers', isRequired: true },
    },
    run: async ({ id, publicNote, at }, run) => publishPlan(await prepareClosing(run.store, id, publicNote), at, run),
  }),

  open: verb({
    ...changeVerb,
    help: 'open a plan to new investment, and delete its public note',
    example: 'plan open mwamba-money-market-fund',
    run: async ({ id, at }, run) => publishPlan(await prepareOpening(run.store, id), at, run),
  }),

  set: verb({
    ...changeVerb,
    help: 'change fields of a plan: name=value, or name=null for no value; a dot names a part of a field, such as category.id=3',
    example: 'plan set mwamba-money-market-fund performance1=12.4 minTopUpAmounts.KES=500',
    args: { id: {}, assignments: { isList: true } },
    run: async ({ id, assignments, at }, run) => publishPlan(await prepareFields(run.store, id, assignments), at, run),
  }),
}

/**
 * Publishes a change of a plan, or schedules it. If the plan already has the new values, prints its scheduled changes, and those that wait
 * for approval.
 * @throws UserError as `publishChange` does, and when there is nothing to schedule: the operator may expect that a pending change is published first.
 */
async function publishPlan(preparedPlan: PreparedPlan, dueAt: number | undefined, run: ChangeRun): Promise<Output> {
  const { id, identifier } = preparedPlan.plan
  if (preparedPlan.changes.length === 0 && dueAt !== undefined) {
    throw new UserError([
      `${identifier} already has these values; there is nothing to schedule.`,
      'A change is computed from the plan as it is now. To base a change on a pending change, wait until the pending change is published.',
      `To see its pending changes: ${describeCommand(run.target, 'plan', 'show', identifier)}`,
    ])
  }
  const output = await publishChange({ ...preparedPlan, dueAt }, run, {
    describeEffectToConfirm: describeInvestability,
    listSummaryLines: (changes) => (changes.length === 0 ? [`${identifier} already has these values.`] : []),
  })
  if (output.changes.length > 0) return output
  const pendingChanges = await selectPendingChanges(run.store, String(id))
  run.warn(...pendingChanges.map(describePending))
  return output
}

/** Says what a new note does, and quotes the whole note: the difference shows only its beginning. @returns undefined unless a plan gets another note. */
function describeInvestability([change]: readonly PlanChange[]): string | undefined {
  const { before, after } = change ?? {}
  if (!before || !after || before.nonInvestableNote === after.nonInvestableNote) return undefined
  const { identifier, nonInvestableNote: note, viewableIn } = after
  const where = viewableIn.length === 0 ? ', on no list' : ` in ${viewableIn.join(', ')}`
  if (note === null) return `${identifier} will be open to new investment${where}.`
  const state = before.nonInvestableNote === null ? 'will be' : 'stays'
  return `${identifier} ${state} closed to new investment${where}. Its new public note: ${JSON.stringify(note)}`
}

/** Removes the list of countries, which partners don't get. */
const removeCountries = ({ viewableIn: _viewableIn, ...fields }: PlanSummary) => fields

function formatTableRow({ identifier, name, fundType, currency, isInvestable, viewableIn }: PlanSummary) {
  return { identifier, name, fundType, currency, open: isInvestable, viewableIn }
}
